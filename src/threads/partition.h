// Pure functions that split work into parts of nearly equal size.
#ifndef DGRAD_THREADS_PARTITION_H_
#define DGRAD_THREADS_PARTITION_H_

#include <algorithm>
#include <cstdint>

namespace dgrad {

// Part i of n items in `parts` parts is [PartBegin(n, parts, i), PartBegin(n, parts, i + 1)): sizes
// differ by at most one, the larger ones come first. n >= 0, parts >= 1, 0 <= i <= parts; no
// overflow for any n.
constexpr int64_t PartBegin(int64_t n, int64_t parts, int64_t i) {
  return n / parts * i + std::min(i, n % parts);
}

}  // namespace dgrad

#endif  // DGRAD_THREADS_PARTITION_H_
