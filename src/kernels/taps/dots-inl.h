// The product whose lanes are terms, for very few columns.
#if defined(DGRAD_KERNELS_TAPS_DOTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DGRAD_KERNELS_TAPS_DOTS_INL_H_
#undef DGRAD_KERNELS_TAPS_DOTS_INL_H_
#else
#define DGRAD_KERNELS_TAPS_DOTS_INL_H_
#endif

#include <algorithm>

#include "hwy/highway.h"
#include "src/kernels/taps/taps.h"
#include "src/kernels/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dgrad::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4 || \
    HWY_TARGET == HWY_NEON
// Neighbouring lanes exchanged.
template <class D, class V>
HWY_INLINE V SwapNeighbours(D, V v) {
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    return hn::Shuffle01(v);
  } else {
    return hn::Shuffle2301(v);
  }
}

// (x.0 + x.1, y.0 + y.1, x.2 + x.3, y.2 + y.3) of 128-bit blocks.
template <class D, class V>
HWY_INLINE V SumNeighbourBlocks(D d, V x, V y) {
  return hn::Add(hn::OddEvenBlocks(y, x), hn::SwapAdjacentBlocks(hn::OddEvenBlocks(x, y)));
}

// The sums of the 128-bit blocks of as many vectors as a vector has blocks, side by side.
template <class D, class V>
HWY_INLINE V SumBlocks(D d, const V* v) {
  constexpr size_t kBlocks = hn::MaxLanes(D()) * sizeof(hn::TFromD<D>) / 16;
  if constexpr (kBlocks == 1) {
    return v[0];
  } else if constexpr (kBlocks == 2) {
    return SumNeighbourBlocks(d, v[0], v[1]);
  } else {
    const V even =
        hn::Add(hn::ConcatLowerLower(d, v[2], v[0]), hn::ConcatUpperUpper(d, v[2], v[0]));
    const V odd = hn::Add(hn::ConcatLowerLower(d, v[3], v[1]), hn::ConcatUpperUpper(d, v[3], v[1]));
    return SumNeighbourBlocks(d, even, odd);
  }
}

// The sums of kRows rows, whose lanes are columns 0, 1, 0, 1, ... and 2, 3, 2, 3, ...
template <class D, class V, int64_t kRows>
HWY_INLINE V SumDots(D d, const V (&sum)[kRows][2]) {
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    return SumBlocks(d, &sum[0][0]);
  } else {
    const hn::RepartitionToWide<D> wide;
    V rows[kRows];  // columns 0, 1, 2, 3, ...
#pragma GCC unroll 4
    for (int64_t r = 0; r < kRows; ++r) {
      const auto low = hn::BitCast(wide, sum[r][0]);
      const auto high = hn::BitCast(wide, sum[r][1]);
      rows[r] = hn::Add(hn::BitCast(d, hn::InterleaveLower(wide, low, high)),
                        hn::BitCast(d, hn::InterleaveUpper(wide, low, high)));
    }
    return SumBlocks(d, rows);
  }
}

template <class D>
void TapsDotsOf(const TapsDotsCall<hn::TFromD<D>>& call) {
  using T = hn::TFromD<D>;
  using V = hn::Vec<D>;
  const D d;
  constexpr int64_t kLanes = hn::MaxLanes(D());
  constexpr int64_t kRows = kLanes / kTapsDots;
  const int64_t whole = call.terms / kLanes * kLanes;
  const int64_t rest = call.terms - whole;
  for (int64_t first = 0; first < call.rows; first += kRows) {
    V sum[kRows][2];
#pragma GCC unroll 4
    for (int64_t r = 0; r < kRows; ++r) sum[r][0] = sum[r][1] = hn::Zero(d);
    const T* rows[kRows];  // rows beyond the last one repeat it
    for (int64_t r = 0; r < kRows; ++r) {
      rows[r] = call.a + std::min(first + r, call.rows - 1) * call.a_row;
    }
    const auto add = [&](int64_t k, auto load) HWY_ATTR {
      const T* const b = call.b + k * kTapsDots;
      const V straight[2] = {hn::LoadU(d, b), hn::LoadU(d, b + 2 * kLanes)};
      const V swapped[2] = {hn::LoadU(d, b + kLanes), hn::LoadU(d, b + 3 * kLanes)};
#pragma GCC unroll 4
      for (int64_t r = 0; r < kRows; ++r) {
        const V a = load(rows[r] + k);
        __builtin_prefetch(rows[r] + k + call.ahead, 0, 2);
        const V swap = SwapNeighbours(d, a);
#pragma GCC unroll 2
        for (int64_t p = 0; p < 2; ++p) {
          sum[r][p] = MultiplyAdd(d, a, straight[p], sum[r][p]);
          sum[r][p] = MultiplyAdd(d, swap, swapped[p], sum[r][p]);
        }
      }
    };
    for (int64_t k = 0; k < whole; k += kLanes) {
      add(k, [&](const T* from) HWY_ATTR { return hn::LoadU(d, from); });
    }
    if (rest > 0) {
      add(whole, [&](const T* from) HWY_ATTR { return LoadPartial(d, from, rest); });
    }
    hn::StoreU(SumDots<D, V, kRows>(d, sum), d, call.out + first * kTapsDots);
  }
}

template <class D>
constexpr void SetDots(TapsFamily<hn::TFromD<D>>& family) {
  constexpr int64_t kLanes = hn::MaxLanes(D());
  if constexpr (kLanes >= kTapsDots) {
    family.dot_rows = kLanes / kTapsDots;
    family.dots = &TapsDotsOf<D>;
  }
}
#else
template <class D>
constexpr void SetDots(TapsFamily<hn::TFromD<D>>&) {}
#endif

}  // namespace dgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DGRAD_KERNELS_TAPS_DOTS_INL_H_
