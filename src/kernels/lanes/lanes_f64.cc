#include "src/kernels/lanes/lanes.h"
#include "src/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/lanes/lanes_f64.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "src/kernels/lanes/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dgrad::kernels::HWY_NAMESPACE {

const LanesFamily<double>& LanesF64() {
  static constexpr LanesFamily<double> kFamily = MakeLanesFamily<double>();
  return kFamily;
}

}  // namespace dgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dgrad::kernels {

template <>
const LanesFamily<double>& Lanes<double>(Isa isa) {
  return DGRAD_SELECT(isa, LanesF64);
}

}  // namespace dgrad::kernels
#endif  // HWY_ONCE
