#include "src/kernels/group_rows/group_rows.h"
#include "src/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/group_rows/group_rows_f16.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "src/kernels/group_rows/group_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dgrad::kernels::HWY_NAMESPACE {

const GroupRowFamily<Float16, float>& GroupRowsF16() {
  static constexpr GroupRowFamily<Float16, float> kFamily = MakeGroupRowFamily<Float16, float>();
  return kFamily;
}

}  // namespace dgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dgrad::kernels {

template <>
const GroupRowFamily<Float16, float>& GroupRows<Float16, float>(Isa isa) {
  return DGRAD_SELECT(isa, GroupRowsF16);
}

}  // namespace dgrad::kernels
#endif  // HWY_ONCE
