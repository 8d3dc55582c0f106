#include "src/kernels/convert/convert.h"

#include "src/base/half.h"
#include "src/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/convert/convert.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dgrad::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D32 = hn::ScalableTag<float>;
using U32 = hn::RebindToUnsigned<D32>;
using U16 = hn::Rebind<uint16_t, D32>;

// Highway 1.0.3 converts float16 exactly only where the CPU has an instruction for it.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_NEON
constexpr bool kVectorF16 = true;
#else
constexpr bool kVectorF16 = false;
#endif

void WidenF16(const Float16* from, float* to, int64_t count) {
  int64_t i = 0;
  if constexpr (kVectorF16) {
    const D32 d;
    const hn::Rebind<hwy::float16_t, D32> d16;
    constexpr int64_t kLanes = hn::MaxLanes(D32());
    for (; i + kLanes <= count; i += kLanes) {
      const auto half = hn::LoadU(d16, reinterpret_cast<const hwy::float16_t*>(from + i));
      hn::StoreU(hn::PromoteTo(d, half), d, to + i);
    }
  }
  for (; i < count; ++i) to[i] = ToFloat(from[i]);
}

void NarrowF16(const float* from, Float16* to, int64_t count) {
  int64_t i = 0;
  if constexpr (kVectorF16) {
    const D32 d;
    const hn::Rebind<hwy::float16_t, D32> d16;
    constexpr int64_t kLanes = hn::MaxLanes(D32());
    for (; i + kLanes <= count; i += kLanes) {
      const auto half = hn::DemoteTo(d16, hn::LoadU(d, from + i));
      hn::StoreU(half, d16, reinterpret_cast<hwy::float16_t*>(to + i));
    }
  }
  for (; i < count; ++i) to[i] = ToFloat16(from[i]);
}

void WidenBF16(const BFloat16* from, float* to, int64_t count) {
  const U32 d;
  const U16 d16;
  constexpr int64_t kLanes = hn::MaxLanes(D32());
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const auto bits = hn::LoadU(d16, reinterpret_cast<const uint16_t*>(from + i));
    const auto wide = hn::ShiftLeft<16>(hn::PromoteTo(d, bits));
    hn::StoreU(hn::BitCast(D32(), wide), D32(), to + i);
  }
  for (; i < count; ++i) to[i] = ToFloat(from[i]);
}

// Highway 1.0.3 truncates to bfloat16, hence the rounding by hand.
void NarrowBF16(const float* from, BFloat16* to, int64_t count) {
  const U32 d;
  const U16 d16;
  constexpr int64_t kLanes = hn::MaxLanes(D32());
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const auto value = hn::LoadU(D32(), from + i);
    const auto bits = hn::BitCast(d, value);
    const auto high = hn::ShiftRight<16>(bits);
    const auto odd = hn::And(high, hn::Set(d, 1));
    const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(bits, hn::Set(d, 0x7FFF)), odd));
    const auto nan = hn::RebindMask(d, hn::IsNaN(value));
    const auto result = hn::IfThenElse(nan, hn::Or(high, hn::Set(d, 0x40)), rounded);
    const auto narrow = hn::DemoteTo(d16, hn::BitCast(hn::RebindToSigned<U32>(), result));
    hn::StoreU(narrow, d16, reinterpret_cast<uint16_t*>(to + i));
  }
  for (; i < count; ++i) to[i] = ToBFloat16(from[i]);
}

const ConvertFamily& ConvertTarget() {
  static constexpr ConvertFamily kFamily = {&WidenF16, &WidenBF16, &NarrowF16, &NarrowBF16};
  return kFamily;
}

}  // namespace dgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dgrad::kernels {

const ConvertFamily& Convert(Isa isa) { return DGRAD_SELECT(isa, ConvertTarget); }

}  // namespace dgrad::kernels
#endif  // HWY_ONCE
