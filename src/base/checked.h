// 64-bit arithmetic that reports overflow instead of wrapping.
#ifndef DGRAD_BASE_CHECKED_H_
#define DGRAD_BASE_CHECKED_H_

#include <cstdint>

namespace dgrad {

// True when the exact result fits; *result is then set, else unspecified. *result may be an
// operand.
[[nodiscard]] constexpr bool CheckedAdd(int64_t a, int64_t b, int64_t* result) {
  return !__builtin_add_overflow(a, b, result);
}
[[nodiscard]] constexpr bool CheckedSub(int64_t a, int64_t b, int64_t* result) {
  return !__builtin_sub_overflow(a, b, result);
}
[[nodiscard]] constexpr bool CheckedMul(int64_t a, int64_t b, int64_t* result) {
  return !__builtin_mul_overflow(a, b, result);
}

}  // namespace dgrad

#endif  // DGRAD_BASE_CHECKED_H_
