#include "src/kernels/targets.h"
#include "src/kernels/winograd/winograd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/winograd/winograd_f64.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "src/kernels/winograd/winograd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dgrad::kernels::HWY_NAMESPACE {

const WinogradFamily<double>& WinogradF64() {
  static constexpr WinogradFamily<double> kFamily = MakeWinogradFamily<double>();
  return kFamily;
}

}  // namespace dgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dgrad::kernels {

template <>
const WinogradFamily<double>& Winograd<double>(Isa isa) {
  return DGRAD_SELECT(isa, WinogradF64);
}

}  // namespace dgrad::kernels
#endif  // HWY_ONCE
