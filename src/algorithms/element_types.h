// From an element type to the types of the loops: what tensors hold, and what is computed with.
#ifndef DGRAD_ALGORITHMS_ELEMENT_TYPES_H_
#define DGRAD_ALGORITHMS_ELEMENT_TYPES_H_

#include <cstdint>

#include "src/base/dtype.h"
#include "src/base/half.h"
#include "src/base/isa.h"
#include "src/kernels/gemm/gemm.h"

namespace dgrad {

// body(storage, compute), called with one value of each type; returns what it returns.
template <typename Body>
auto WithElementTypes(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::kF16:
      return body(Float16{}, float{});
    case DType::kBF16:
      return body(BFloat16{}, float{});
    case DType::kF32:
      return body(float{}, float{});
    case DType::kF64:
      return body(double{}, double{});
    case DType::kI32:
      break;
  }
  return body(int32_t{}, int32_t{});
}

// An element as a value of the compute type.
inline float Widened(Float16 value) { return ToFloat(value); }
inline float Widened(BFloat16 value) { return ToFloat(value); }
template <typename T>
T Widened(T value) {
  return value;
}

constexpr bool IsHalf(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

// Bytes of the compute type.
constexpr int64_t ComputeSizeOf(DType dtype) { return IsHalf(dtype) ? 4 : SizeOf(dtype); }

// Elements of the compute type in a vector, the same for every family of kernels.
inline int LanesOf(DType dtype, Isa isa) {
  return WithElementTypes(
      dtype, [&](auto, auto compute) { return kernels::Gemm<decltype(compute)>(isa).lanes; });
}

}  // namespace dgrad

#endif  // DGRAD_ALGORITHMS_ELEMENT_TYPES_H_
