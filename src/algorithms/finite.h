// Whether values are finite, by their bits: a signalling NaN must not raise.
#ifndef DGRAD_ALGORITHMS_FINITE_H_
#define DGRAD_ALGORITHMS_FINITE_H_

#include <algorithm>
#include <bit>
#include <cstdint>

#include "src/base/half.h"

namespace dgrad {

inline bool IsFinite(Float16 value) { return (value.bits & 0x7C00) != 0x7C00; }
inline bool IsFinite(BFloat16 value) { return (value.bits & 0x7F80) != 0x7F80; }
inline bool IsFinite(float value) {
  return (std::bit_cast<uint32_t>(value) & 0x7F800000) != 0x7F800000;
}
inline bool IsFinite(double value) {
  constexpr uint64_t kExponent = uint64_t{0x7FF} << 52;
  return (std::bit_cast<uint64_t>(value) & kExponent) != kExponent;
}
inline bool IsFinite(int32_t) { return true; }

template <typename S>
bool AllFinite(const S* values, int64_t count) {
  // Without a branch inside, so that compilers make vectors of it.
  constexpr int64_t kStep = 2048;
  for (int64_t i = 0; i < count; i += kStep) {
    bool all = true;
    const int64_t end = std::min(count, i + kStep);
    for (int64_t j = i; j < end; ++j) all &= IsFinite(values[j]);
    if (!all) return false;
  }
  return true;
}

}  // namespace dgrad

#endif  // DGRAD_ALGORITHMS_FINITE_H_
