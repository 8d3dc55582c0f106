// Conversions between the half types and float, many elements at a time.
#ifndef DGRAD_KERNELS_CONVERT_CONVERT_H_
#define DGRAD_KERNELS_CONVERT_CONVERT_H_

#include <algorithm>
#include <cstdint>

#include "src/base/dtype.h"
#include "src/base/isa.h"

namespace dgrad::kernels {

struct ConvertFamily {
  // Exact.
  void (*widen_f16)(const Float16* from, float* to, int64_t count);
  void (*widen_bf16)(const BFloat16* from, float* to, int64_t count);
  // Round to nearest even; NaN stays NaN, overflow becomes Inf.
  void (*narrow_f16)(const float* from, Float16* to, int64_t count);
  void (*narrow_bf16)(const float* from, BFloat16* to, int64_t count);
};

const ConvertFamily& Convert(Isa isa);

// By type.
inline void Widen(const ConvertFamily& f, const Float16* from, float* to, int64_t count) {
  f.widen_f16(from, to, count);
}
inline void Widen(const ConvertFamily& f, const BFloat16* from, float* to, int64_t count) {
  f.widen_bf16(from, to, count);
}
inline void Narrow(const ConvertFamily& f, const float* from, Float16* to, int64_t count) {
  f.narrow_f16(from, to, count);
}
inline void Narrow(const ConvertFamily& f, const float* from, BFloat16* to, int64_t count) {
  f.narrow_bf16(from, to, count);
}

// Nothing to convert: a copy.
template <typename T>
void Widen(const ConvertFamily&, const T* from, T* to, int64_t count) {
  std::copy(from, from + count, to);
}
template <typename T>
void Narrow(const ConvertFamily&, const T* from, T* to, int64_t count) {
  std::copy(from, from + count, to);
}

}  // namespace dgrad::kernels

#endif  // DGRAD_KERNELS_CONVERT_CONVERT_H_
