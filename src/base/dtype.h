// Element types. The values equal the C interface's.
#ifndef DGRAD_BASE_DTYPE_H_
#define DGRAD_BASE_DTYPE_H_

#include <cstdint>

namespace dgrad {

enum class DType : int32_t { kF16 = 1, kBF16 = 2, kF32 = 3, kF64 = 4, kI32 = 5 };

// Storage of the half types: bit patterns, converted by base/half.h.
struct Float16 {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};

constexpr int64_t SizeOf(DType type) {
  switch (type) {
    case DType::kF16:
    case DType::kBF16:
      return 2;
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kF64:
      return 8;
  }
  return 0;
}

// The names of problem strings: f16, bf16, f32, f64, i32.
constexpr const char* Name(DType type) {
  switch (type) {
    case DType::kF16:
      return "f16";
    case DType::kBF16:
      return "bf16";
    case DType::kF32:
      return "f32";
    case DType::kF64:
      return "f64";
    case DType::kI32:
      return "i32";
  }
  return "?";
}

}  // namespace dgrad

#endif  // DGRAD_BASE_DTYPE_H_
