#include "src/kernels/taps/taps.h"
#include "src/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/taps/taps_f64.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "src/kernels/taps/taps-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dgrad::kernels::HWY_NAMESPACE {

const TapsFamily<double>& TapsF64() {
  static constexpr TapsFamily<double> kFamily = MakeTapsFamily<double>();
  return kFamily;
}

}  // namespace dgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dgrad::kernels {

template <>
const TapsFamily<double>& Taps<double>(Isa isa) {
  return DGRAD_SELECT(isa, TapsF64);
}

}  // namespace dgrad::kernels
#endif  // HWY_ONCE
