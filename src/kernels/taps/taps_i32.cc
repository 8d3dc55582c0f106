#include "src/kernels/taps/taps.h"
#include "src/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/taps/taps_i32.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "src/kernels/taps/taps-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dgrad::kernels::HWY_NAMESPACE {

const TapsFamily<int32_t>& TapsI32() {
  static constexpr TapsFamily<int32_t> kFamily = MakeTapsFamily<int32_t>();
  return kFamily;
}

}  // namespace dgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dgrad::kernels {

template <>
const TapsFamily<int32_t>& Taps<int32_t>(Isa isa) {
  return DGRAD_SELECT(isa, TapsI32);
}

}  // namespace dgrad::kernels
#endif  // HWY_ONCE
