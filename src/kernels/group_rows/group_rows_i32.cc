#include "src/kernels/group_rows/group_rows.h"
#include "src/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/group_rows/group_rows_i32.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "src/kernels/group_rows/group_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dgrad::kernels::HWY_NAMESPACE {

const GroupRowFamily<int32_t, int32_t>& GroupRowsI32() {
  static constexpr GroupRowFamily<int32_t, int32_t> kFamily =
      MakeGroupRowFamily<int32_t, int32_t>();
  return kFamily;
}

}  // namespace dgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dgrad::kernels {

template <>
const GroupRowFamily<int32_t, int32_t>& GroupRows<int32_t, int32_t>(Isa isa) {
  return DGRAD_SELECT(isa, GroupRowsI32);
}

}  // namespace dgrad::kernels
#endif  // HWY_ONCE
