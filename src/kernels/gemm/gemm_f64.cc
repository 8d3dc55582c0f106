#include "src/kernels/gemm/gemm.h"
#include "src/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/gemm/gemm_f64.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "src/kernels/gemm/gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dgrad::kernels::HWY_NAMESPACE {

const GemmFamily<double>& GemmF64() {
  static constexpr GemmFamily<double> kFamily = MakeGemmFamily<double>();
  return kFamily;
}

}  // namespace dgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dgrad::kernels {

template <>
const GemmFamily<double>& Gemm<double>(Isa isa) {
  return DGRAD_SELECT(isa, GemmF64);
}

}  // namespace dgrad::kernels
#endif  // HWY_ONCE
