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
// The sums of the lanes of 4 vectors (2 of 64 bits) within each 128-bit block, side by side.
template <class D, class V>
HWY_INLINE V SumWithinBlocks(D d, const V* v) {
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    return hn::Add(hn::InterleaveLower(d, v[0], v[1]), hn::InterleaveUpper(d, v[0], v[1]));
  } else {
    const hn::RepartitionToWide<D> wide;
    const V ab = hn::Add(hn::InterleaveLower(d, v[0], v[1]), hn::InterleaveUpper(d, v[0], v[1]));
    const V ce = hn::Add(hn::InterleaveLower(d, v[2], v[3]), hn::InterleaveUpper(d, v[2], v[3]));
    const auto low = hn::InterleaveLower(wide, hn::BitCast(wide, ab), hn::BitCast(wide, ce));
    const auto high = hn::InterleaveUpper(wide, hn::BitCast(wide, ab), hn::BitCast(wide, ce));
    return hn::Add(hn::BitCast(d, low), hn::BitCast(d, high));
  }
}

// (x.0 + x.1, y.0 + y.1, x.2 + x.3, y.2 + y.3) of 128-bit blocks.
template <class D, class V>
HWY_INLINE V SumNeighbourBlocks(D d, V x, V y) {
  return hn::Add(hn::OddEvenBlocks(y, x), hn::SwapAdjacentBlocks(hn::OddEvenBlocks(x, y)));
}

// The sums of the lanes of as many vectors as a vector has lanes, side by side.
template <class D, class V>
HWY_INLINE V SumLanes(D d, const V* v) {
  constexpr size_t kBlock = 16 / sizeof(hn::TFromD<D>);
  constexpr size_t kBlocks = hn::MaxLanes(D()) / kBlock;
  const V first = SumWithinBlocks(d, v);
  if constexpr (kBlocks == 1) {
    return first;
  } else if constexpr (kBlocks == 2) {
    return SumNeighbourBlocks(d, first, SumWithinBlocks(d, v + kBlock));
  } else {
    const V second = SumWithinBlocks(d, v + kBlock);
    const V third = SumWithinBlocks(d, v + 2 * kBlock);
    const V fourth = SumWithinBlocks(d, v + 3 * kBlock);
    const V even =
        hn::Add(hn::ConcatLowerLower(d, third, first), hn::ConcatUpperUpper(d, third, first));
    const V odd =
        hn::Add(hn::ConcatLowerLower(d, fourth, second), hn::ConcatUpperUpper(d, fourth, second));
    return SumNeighbourBlocks(d, even, odd);
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
  const int64_t b_column = whole + (rest > 0 ? kLanes : 0);
  for (int64_t first = 0; first < call.rows; first += kRows) {
    V sum[kLanes];
#pragma GCC unroll 16
    for (int64_t i = 0; i < kLanes; ++i) sum[i] = hn::Zero(d);
    const T* rows[kRows];  // rows beyond the last one repeat it
    for (int64_t r = 0; r < kRows; ++r) {
      rows[r] = call.a + std::min(first + r, call.rows - 1) * call.a_row;
    }
    const auto add = [&](int64_t k, auto load) HWY_ATTR {
      V a[kRows];
#pragma GCC unroll 4
      for (int64_t r = 0; r < kRows; ++r) {
        a[r] = load(rows[r] + k);
        __builtin_prefetch(rows[r] + k + call.ahead, 0, 2);
      }
#pragma GCC unroll 4
      for (int64_t c = 0; c < kTapsDots; ++c) {
        const V b = hn::LoadU(d, call.b + c * b_column + k);
#pragma GCC unroll 4
        for (int64_t r = 0; r < kRows; ++r) {
          sum[r * kTapsDots + c] = MultiplyAdd(d, a[r], b, sum[r * kTapsDots + c]);
        }
      }
    };
    for (int64_t k = 0; k < whole; k += kLanes) {
      add(k, [&](const T* from) HWY_ATTR { return hn::LoadU(d, from); });
    }
    if (rest > 0) {
      add(whole, [&](const T* from) HWY_ATTR { return LoadPartial(d, from, rest); });
    }
    hn::StoreU(SumLanes(d, sum), d, call.out + first * kTapsDots);
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
