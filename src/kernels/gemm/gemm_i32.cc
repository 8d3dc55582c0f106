#include "src/kernels/gemm/gemm.h"
#include "src/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/gemm/gemm_i32.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "src/kernels/gemm/gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dgrad::kernels::HWY_NAMESPACE {

const GemmFamily<int32_t>& GemmI32() {
  static constexpr GemmFamily<int32_t> kFamily = MakeGemmFamily<int32_t>();
  return kFamily;
}

}  // namespace dgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dgrad::kernels {

template <>
const GemmFamily<int32_t>& Gemm<int32_t>(Isa isa) {
  return DGRAD_SELECT(isa, GemmI32);
}

}  // namespace dgrad::kernels
#endif  // HWY_ONCE
