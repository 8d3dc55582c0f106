#include "src/kernels/convert/convert.h"

#include <algorithm>

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

constexpr int64_t kLanes = hn::MaxLanes(D32());

// Whole vectors; the last one overlaps the one before, or goes through memory of its own.
template <typename From, typename To, class Vector>
HWY_INLINE void ForVectors(const From* from, To* to, int64_t count, const Vector& vector) {
  if (count < kLanes) {
    From in[kLanes] = {};
    To out[kLanes];
    std::copy(from, from + count, in);
    vector(in, out);
    std::copy(out, out + count, to);
    return;
  }
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) vector(from + i, to + i);
  if (i < count) vector(from + count - kLanes, to + count - kLanes);
}

void WidenF16(const Float16* from, float* to, int64_t count) {
  if constexpr (kVectorF16) {
    const D32 d;
    const hn::Rebind<hwy::float16_t, D32> d16;
    ForVectors(from, to, count, [&](const Float16* x, float* y) HWY_ATTR {
      const auto half = hn::LoadU(d16, reinterpret_cast<const hwy::float16_t*>(x));
      hn::StoreU(hn::PromoteTo(d, half), d, y);
    });
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = ToFloat(from[i]);
  }
}

void NarrowF16(const float* from, Float16* to, int64_t count) {
  if constexpr (kVectorF16) {
    const D32 d;
    const hn::Rebind<hwy::float16_t, D32> d16;
    ForVectors(from, to, count, [&](const float* x, Float16* y) HWY_ATTR {
      const auto half = hn::DemoteTo(d16, hn::LoadU(d, x));
      hn::StoreU(half, d16, reinterpret_cast<hwy::float16_t*>(y));
    });
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = ToFloat16(from[i]);
  }
}

void WidenBF16(const BFloat16* from, float* to, int64_t count) {
  const U32 d;
  const U16 d16;
  ForVectors(from, to, count, [&](const BFloat16* x, float* y) HWY_ATTR {
    const auto bits = hn::LoadU(d16, reinterpret_cast<const uint16_t*>(x));
    const auto wide = hn::ShiftLeft<16>(hn::PromoteTo(d, bits));
    hn::StoreU(hn::BitCast(D32(), wide), D32(), y);
  });
}

// Highway 1.0.3 truncates to bfloat16, hence the rounding by hand.
void NarrowBF16(const float* from, BFloat16* to, int64_t count) {
  const U32 d;
  const U16 d16;
  ForVectors(from, to, count, [&](const float* x, BFloat16* y) HWY_ATTR {
    const auto value = hn::LoadU(D32(), x);
    const auto bits = hn::BitCast(d, value);
    const auto high = hn::ShiftRight<16>(bits);
    const auto odd = hn::And(high, hn::Set(d, 1));
    const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(bits, hn::Set(d, 0x7FFF)), odd));
    const auto nan = hn::RebindMask(d, hn::IsNaN(value));
    const auto result = hn::IfThenElse(nan, hn::Or(high, hn::Set(d, 0x40)), rounded);
    const auto narrow = hn::DemoteTo(d16, hn::BitCast(hn::RebindToSigned<U32>(), result));
    hn::StoreU(narrow, d16, reinterpret_cast<uint16_t*>(y));
  });
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
