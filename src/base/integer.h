// Integer division with a stated direction of rounding.
#ifndef DGRAD_BASE_INTEGER_H_
#define DGRAD_BASE_INTEGER_H_

#include <cstdint>

namespace dgrad {

// divisor > 0.
constexpr int64_t FloorDivide(int64_t value, int64_t divisor) {
  return value / divisor - (value % divisor < 0 ? 1 : 0);
}
constexpr int64_t CeilDivide(int64_t value, int64_t divisor) {
  return value / divisor + (value % divisor > 0 ? 1 : 0);
}
// In [0, divisor).
constexpr int64_t FloorModulo(int64_t value, int64_t divisor) {
  const int64_t rest = value % divisor;
  return rest < 0 ? rest + divisor : rest;
}
constexpr int64_t RoundUp(int64_t value, int64_t multiple) {
  return CeilDivide(value, multiple) * multiple;
}

// The product of two values that are not negative, INT64_MAX when it does not fit.
constexpr int64_t SaturatingMultiply(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

}  // namespace dgrad

#endif  // DGRAD_BASE_INTEGER_H_
