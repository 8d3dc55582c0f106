#include "src/kernels/lanes/lanes.h"
#include "src/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/lanes/lanes_f32.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "src/kernels/lanes/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dgrad::kernels::HWY_NAMESPACE {

const LanesFamily<float>& LanesF32() {
  static constexpr LanesFamily<float> kFamily = MakeLanesFamily<float>();
  return kFamily;
}

}  // namespace dgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dgrad::kernels {

template <>
const LanesFamily<float>& Lanes<float>(Isa isa) {
  return DGRAD_SELECT(isa, LanesF32);
}

}  // namespace dgrad::kernels
#endif  // HWY_ONCE
