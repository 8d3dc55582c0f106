#include "src/kernels/targets.h"
#include "src/kernels/winograd/winograd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/winograd/winograd_f32.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "src/kernels/winograd/winograd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dgrad::kernels::HWY_NAMESPACE {

const WinogradFamily<float>& WinogradF32() {
  static constexpr WinogradFamily<float> kFamily = MakeWinogradFamily<float>();
  return kFamily;
}

}  // namespace dgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dgrad::kernels {

template <>
const WinogradFamily<float>& Winograd<float>(Isa isa) {
  return DGRAD_SELECT(isa, WinogradF32);
}

}  // namespace dgrad::kernels
#endif  // HWY_ONCE
