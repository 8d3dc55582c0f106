// Hints that memory will be used soon. Addresses need not be mapped. Inlined by force: GCC takes a
// function that only prefetches for one without effect and drops calls of it.
#ifndef DGRAD_BASE_PREFETCH_H_
#define DGRAD_BASE_PREFETCH_H_

#include <cstdint>

namespace dgrad {

inline constexpr int64_t kCacheLine = 64;

// Into the second cache: it is read by the tile after the one at hand.
[[gnu::always_inline]] inline void PrefetchForRead(const void* from, int64_t bytes) {
  const char* const begin = static_cast<const char*>(from);
  for (int64_t i = 0; i < bytes; i += kCacheLine) __builtin_prefetch(begin + i, 0, 2);
}

// Into the first cache, owned: it is written at the end of the tile at hand.
[[gnu::always_inline]] inline void PrefetchForWrite(const void* to, int64_t bytes) {
  const char* const begin = static_cast<const char*>(to);
  for (int64_t i = 0; i < bytes; i += kCacheLine) __builtin_prefetch(begin + i, 1, 3);
}

}  // namespace dgrad

#endif  // DGRAD_BASE_PREFETCH_H_
