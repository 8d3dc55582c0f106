// What blocking sizes are derived from: the caches of this machine, and its name for people.
#ifndef DGRAD_BASE_CACHE_SIZE_H_
#define DGRAD_BASE_CACHE_SIZE_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace dgrad {

struct CacheSizes {
  int64_t l1d;  // bytes of one core
  int64_t l2;   // bytes of one core, or of the cores that share it
  int64_t l3;   // bytes shared by a socket or a part of it; 8 MiB is assumed where there is none
};

// Found once: from the C library, else from sysfs, else 32 KiB, 1 MiB and 8 MiB. Always within
// 8 KiB .. 1 MiB, 64 KiB .. 256 MiB, 1 MiB .. 4 GiB, since virtual machines report nonsense at
// times.
const CacheSizes& GetCacheSizes();

// The CPU's name, such as its brand string, without surrounding blanks; never empty.
const std::string& CpuModelName();

// Bytes of a sysfs size such as "48K", "2048K", "32M" or "512"; 0 for other text.
int64_t ParseCacheSize(std::string_view text);

}  // namespace dgrad

#endif  // DGRAD_BASE_CACHE_SIZE_H_
