// The kernels of taps.h, compiled once per target and type by taps_<type>.cc.
#if defined(DGRAD_KERNELS_TAPS_TAPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DGRAD_KERNELS_TAPS_TAPS_INL_H_
#undef DGRAD_KERNELS_TAPS_TAPS_INL_H_
#else
#define DGRAD_KERNELS_TAPS_TAPS_INL_H_
#endif

#include <algorithm>
#include <utility>

#include "hwy/highway.h"
#include "src/kernels/taps/dots-inl.h"
#include "src/kernels/taps/taps.h"
#include "src/kernels/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dgrad::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D, int kRows, int kVectors>
void TapsTile(const TapsProductCall<hn::TFromD<D>>& call) {
  using T = hn::TFromD<D>;
  using V = hn::Vec<D>;
  const D d;
  constexpr int64_t kLanes = hn::MaxLanes(D());

  const T* rows[kRows];
  for (int r = 0; r < kRows; ++r) rows[r] = call.a + r * call.a_row;
  // Every loop over the accumulators is unrolled, else GCC keeps them in memory.
  V sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
  }
  const T* HWY_RESTRICT b = call.b;
  const T* ahead = call.ahead;
  const int64_t b_term = call.b_term;
  const int64_t step = call.a_term;
  const int64_t end = call.terms * step;
  for (int64_t i = 0; i != end; i += step) {
    V columns[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) columns[v] = hn::LoadU(d, b + v * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const V row = hn::Set(d, rows[r][i]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[r][v] = MultiplyAdd(d, row, columns[v], sum[r][v]);
    }
    b += b_term;
    __builtin_prefetch(ahead, 0, 2);
    if (kRows * sizeof(T) > 64) __builtin_prefetch(ahead + 64 / sizeof(T), 0, 2);
    ahead += call.ahead_step;
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    T* const out = call.out + r * call.out_row;
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      StoreFull(d, sum[r][v], out + v * kLanes, call.accumulate);
    }
  }
}

// Elements [first, first + lanes of d) of kGroups groups from g on.
template <int kGroups, class D>
HWY_INLINE void SumGroups(D d, const TapsSumCall<hn::TFromD<D>>& call, int64_t first, int64_t g) {
  using T = hn::TFromD<D>;
  using V = hn::Vec<D>;
  const int64_t step = call.source_step;
  const int64_t offset = g * step + first;
  V sum[kGroups];
#pragma GCC unroll 4
  for (int i = 0; i < kGroups; ++i) sum[i] = hn::Zero(d);
  for (int64_t s = 0; s < call.whole; ++s) {
    const T* const from = call.source[s] + offset;
#pragma GCC unroll 4
    for (int i = 0; i < kGroups; ++i) sum[i] = hn::Add(sum[i], hn::LoadU(d, from + i * step));
  }
  const int64_t rest = std::min<int64_t>(call.rest - first, hn::MaxLanes(D()));
  if (rest > 0) {
    const auto mask = hn::FirstN(d, static_cast<size_t>(rest));
    for (int64_t s = call.whole; s < call.sources; ++s) {
      const T* const from = call.source[s] + offset;
#pragma GCC unroll 4
      for (int i = 0; i < kGroups; ++i) {
        sum[i] = hn::Add(sum[i], hn::IfThenElseZero(mask, hn::LoadU(d, from + i * step)));
      }
    }
  }
  // Rising order: what a store leaves beyond its group, the next group overwrites.
  T* const out = call.out + g * call.width + first;
#pragma GCC unroll 4
  for (int i = 0; i < kGroups; ++i) hn::StoreU(sum[i], d, out + i * call.width);
}

// The groups from `begin` on. The last part of the width comes first, since it spills into the
// first part of the next group.
template <class D>
void TapsSumOf(D d, const TapsSumCall<hn::TFromD<D>>& call, int64_t begin) {
  constexpr int64_t kLanes = hn::MaxLanes(D());
  for (int64_t first = (call.width - 1) / kLanes * kLanes; first >= 0; first -= kLanes) {
    int64_t g = begin;
    for (; g + 4 <= call.groups; g += 4) SumGroups<4>(d, call, first, g);
    for (; g < call.groups; ++g) SumGroups<1>(d, call, first, g);
  }
}

// Groups so close to each other that two neighbouring vectors have those of a vector of sums: all
// but the last few of them. Returns how many.
template <class D>
int64_t TapsSumClose(D d, const TapsSumCall<hn::TFromD<D>>& call) {
  using T = hn::TFromD<D>;
  using V = hn::Vec<D>;
  constexpr int64_t kLanes = hn::MaxLanes(D());
  if constexpr (kLanes < 8) {  // few groups a vector
    return 0;
  } else {
    if (call.whole < call.sources || call.width > kLanes) return 0;
    const int64_t step = call.source_step;
    const int64_t count = std::min(kLanes / call.width, (2 * kLanes - call.width) / step + 1);
    const int64_t behind = 2 * kLanes - (count - 1) * step - call.width;  // read, not used
    if (count < 4 || behind > kTapsSlack) return 0;
    using DI = hn::RebindToSigned<D>;
    using TI = hn::TFromD<DI>;
    const DI di;
    HWY_ALIGN TI lanes[kLanes] = {};
    for (int64_t g = 0; g < count; ++g) {
      for (int64_t i = 0; i < call.width; ++i) {
        lanes[g * call.width + i] = static_cast<TI>(g * step + i);
      }
    }
    const auto from = hn::Load(di, lanes);
    const auto low = hn::IndicesFromVec(d, hn::And(from, hn::Set(di, TI{kLanes - 1})));
    const auto high = hn::RebindMask(d, hn::Gt(from, hn::Set(di, TI{kLanes - 1})));
    int64_t g = 0;
    for (; g + count <= call.groups; g += count) {
      V sum = hn::Zero(d);
      for (int64_t s = 0; s < call.sources; ++s) {
        const T* const at = call.source[s] + g * step;
        const V first = hn::TableLookupLanes(hn::LoadU(d, at), low);
        const V second = hn::TableLookupLanes(hn::LoadU(d, at + kLanes), low);
        sum = hn::Add(sum, hn::IfThenElse(high, second, first));
      }
      hn::StoreU(sum, d, call.out + g * call.width);
    }
    return g;
  }
}

// Narrow groups in narrow vectors, whose loads are cheaper.
template <typename T>
void TapsSum(const TapsSumCall<T>& call) {
  constexpr size_t kShort = 16 / sizeof(T);
  const hn::ScalableTag<T> full;
  const int64_t begin = TapsSumClose(full, call);
  if (call.width <= static_cast<int64_t>(kShort)) {
    TapsSumOf(hn::CappedTag<T, kShort>(), call, begin);
  } else if (call.width <= static_cast<int64_t>(2 * kShort)) {
    TapsSumOf(hn::CappedTag<T, 2 * kShort>(), call, begin);
  } else {
    TapsSumOf(full, call, begin);
  }
}

template <class D, int kVectors, int... kIndex>
constexpr void FillTapsRow(TapsFamily<hn::TFromD<D>>& family,
                           std::integer_sequence<int, kIndex...>) {
  family.max_rows[kVectors] = MaxRows(kVectors);
  ((family.products[kVectors][kIndex + 1] = &TapsTile<D, kIndex + 1, kVectors>), ...);
}

template <typename T>
constexpr TapsFamily<T> MakeTapsFamily() {
  using D = hn::ScalableTag<T>;
  TapsFamily<T> family{};
  family.lanes = hn::MaxLanes(D());
  FillTapsRow<D, 1>(family, std::make_integer_sequence<int, MaxRows(1)>());
  FillTapsRow<D, 2>(family, std::make_integer_sequence<int, MaxRows(2)>());
  FillTapsRow<D, 3>(family, std::make_integer_sequence<int, MaxRows(3)>());
  SetDots<D>(family);
  family.sum = &TapsSum<T>;
  return family;
}

}  // namespace dgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DGRAD_KERNELS_TAPS_TAPS_INL_H_
