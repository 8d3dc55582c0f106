#include "src/kernels/group_rows/group_rows.h"
#include "src/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/group_rows/group_rows_f32.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "src/kernels/group_rows/group_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dgrad::kernels::HWY_NAMESPACE {

const GroupRowFamily<float, float>& GroupRowsF32() {
  static constexpr GroupRowFamily<float, float> kFamily = MakeGroupRowFamily<float, float>();
  return kFamily;
}

}  // namespace dgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dgrad::kernels {

template <>
const GroupRowFamily<float, float>& GroupRows<float, float>(Isa isa) {
  return DGRAD_SELECT(isa, GroupRowsF32);
}

}  // namespace dgrad::kernels
#endif  // HWY_ONCE
