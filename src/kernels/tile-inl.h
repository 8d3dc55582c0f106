// What the register-tile kernels share: tile sizes, multiply-add, partial vectors.
#if defined(DGRAD_KERNELS_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DGRAD_KERNELS_TILE_INL_H_
#undef DGRAD_KERNELS_TILE_INL_H_
#else
#define DGRAD_KERNELS_TILE_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dgrad::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows of a tile of `vectors` vectors: accumulators, the vectors of b and one of a must fit the
// registers (32 on AVX-512 and NEON, 16 on AVX2 and SSE4).
constexpr int MaxRows([[maybe_unused]] int vectors) {
#if HWY_TARGET == HWY_AVX3
  return vectors == 3 ? 9 : 14;
#elif HWY_TARGET == HWY_NEON
  return vectors == 3 ? 8 : 12;
#elif HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4
  return vectors == 3 ? 4 : vectors == 2 ? 6 : 12;
#else
  return 4;
#endif
}

template <class D, class V>
HWY_INLINE V MultiplyAdd(D, V a, V b, V sum) {
  if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
    return hn::MulAdd(a, b, sum);
  } else {
    return hn::Add(hn::Mul(a, b), sum);
  }
}

// The first `count` lanes, 0 < count < lanes, the others zero. Other lanes are not read.
template <class D>
HWY_INLINE hn::Vec<D> LoadPartial(D d, const hn::TFromD<D>* from, int64_t count) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, from);
#else
  HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(D())] = {};
  for (int64_t i = 0; i < count; ++i) lanes[i] = from[i];
  return hn::Load(d, lanes);
#endif
}

// Writes `sum` to the first `count` lanes, 0 < count < lanes, or adds it to them. Other lanes are
// neither read nor written: they may belong to another task.
template <class D, class V>
HWY_INLINE void StorePartial(D d, V sum, hn::TFromD<D>* out, int64_t count, bool accumulate) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  const auto mask = hn::FirstN(d, static_cast<size_t>(count));
  if (accumulate) sum = hn::Add(hn::MaskedLoad(mask, d, out), sum);
  hn::BlendedStore(sum, mask, d, out);
#else
  // Highway's masked store is not one on SSE4: it writes all lanes.
  HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(D())];
  if (accumulate) sum = hn::Add(LoadPartial(d, out, count), sum);
  hn::Store(sum, d, lanes);
  for (int64_t i = 0; i < count; ++i) out[i] = lanes[i];
#endif
}

// Writes or adds all lanes.
template <class D, class V>
HWY_INLINE void StoreFull(D d, V sum, hn::TFromD<D>* out, bool accumulate) {
  if (accumulate) sum = hn::Add(hn::LoadU(d, out), sum);
  hn::StoreU(sum, d, out);
}

}  // namespace dgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DGRAD_KERNELS_TILE_INL_H_
