#include "src/kernels/lanes/lanes.h"
#include "src/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/lanes/lanes_i32.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "src/kernels/lanes/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dgrad::kernels::HWY_NAMESPACE {

const LanesFamily<int32_t>& LanesI32() {
  static constexpr LanesFamily<int32_t> kFamily = MakeLanesFamily<int32_t>();
  return kFamily;
}

}  // namespace dgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dgrad::kernels {

template <>
const LanesFamily<int32_t>& Lanes<int32_t>(Isa isa) {
  return DGRAD_SELECT(isa, LanesI32);
}

}  // namespace dgrad::kernels
#endif  // HWY_ONCE
