// The row kernel for groups of few channels, compiled once per target and type by
// group_rows_<type>.cc.
#if defined(DGRAD_KERNELS_GROUP_ROWS_GROUP_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DGRAD_KERNELS_GROUP_ROWS_GROUP_ROWS_INL_H_
#undef DGRAD_KERNELS_GROUP_ROWS_GROUP_ROWS_INL_H_
#else
#define DGRAD_KERNELS_GROUP_ROWS_GROUP_ROWS_INL_H_
#endif

#include <algorithm>
#include <iterator>
#include <type_traits>

#include "hwy/highway.h"
#include "src/base/half.h"
#include "src/kernels/group_rows/group_rows.h"
#include "src/kernels/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dgrad::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Sizes of tiles: accumulators, filter vectors of the unrolled taps, indices and an input must fit
// the registers.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
constexpr int kRowTilePixels[] = {1, 2, 4, 7, 14};
#elif HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4
constexpr int kRowTilePixels[] = {1, 2, 4, 8};
#else
constexpr int kRowTilePixels[] = {1, 4};
#endif
constexpr int kRowTiles = static_cast<int>(std::size(kRowTilePixels));
// Filters of more taps take them block by block; so do integers.
template <typename T>
constexpr int kMostUnrolledTaps = std::is_same_v<T, float>    ? 5
                                  : std::is_same_v<T, double> ? 3
                                                              : 0;
// Most taps of a block. More than three at once are usual for depthwise filters only.
template <typename T, bool kGroups>
constexpr int kBlockTaps = std::is_same_v<T, float> && !kGroups ? 5 : 3;

// Highway 1.0.3 converts float16 exactly only where the CPU has an instruction for it, and
// truncates to bfloat16 everywhere.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_NEON
constexpr bool kRowVectorF16 = true;
#else
constexpr bool kRowVectorF16 = false;
#endif

// Not inlined: too long for each of the many tiles.
template <class D>
HWY_NOINLINE void WidenLanes(const Float16* from, float* to) {
  for (size_t i = 0; i < hn::MaxLanes(D()); ++i) to[i] = ToFloat(from[i]);
}
template <class D>
HWY_NOINLINE void NarrowLanes(const float* from, Float16* to) {
  for (size_t i = 0; i < hn::MaxLanes(D()); ++i) to[i] = ToFloat16(from[i]);
}

template <class D, typename S>
HWY_INLINE hn::Vec<D> LoadWide(D d, const S* from) {
  if constexpr (std::is_same_v<S, hn::TFromD<D>>) {
    return hn::LoadU(d, from);
  } else if constexpr (std::is_same_v<S, BFloat16>) {
    const hn::RebindToUnsigned<D> u;
    const hn::Rebind<uint16_t, D> u16;
    const auto bits = hn::LoadU(u16, reinterpret_cast<const uint16_t*>(from));
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(u, bits)));
  } else if constexpr (kRowVectorF16) {
    const hn::Rebind<hwy::float16_t, D> d16;
    return hn::PromoteTo(d, hn::LoadU(d16, reinterpret_cast<const hwy::float16_t*>(from)));
  } else {
    HWY_ALIGN float lanes[hn::MaxLanes(D())];
    WidenLanes<D>(from, lanes);
    return hn::Load(d, lanes);
  }
}

template <class D, typename S>
HWY_INLINE void StoreNarrow(D d, hn::Vec<D> value, S* to, bool stream) {
  if constexpr (std::is_same_v<S, hn::TFromD<D>>) {
    if (stream) {
      hn::Stream(value, d, to);
    } else {
      hn::StoreU(value, d, to);
    }
  } else if constexpr (std::is_same_v<S, BFloat16>) {
    const hn::RebindToUnsigned<D> u;
    const hn::Rebind<uint16_t, D> u16;
    const auto bits = hn::BitCast(u, value);
    const auto high = hn::ShiftRight<16>(bits);
    const auto odd = hn::And(high, hn::Set(u, 1));
    const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(bits, hn::Set(u, 0x7FFF)), odd));
    const auto nan = hn::RebindMask(u, hn::IsNaN(value));
    const auto result = hn::IfThenElse(nan, hn::Or(high, hn::Set(u, 0x40)), rounded);
    const auto narrow = hn::DemoteTo(u16, hn::BitCast(hn::RebindToSigned<D>(), result));
    hn::StoreU(narrow, u16, reinterpret_cast<uint16_t*>(to));
  } else if constexpr (kRowVectorF16) {
    const hn::Rebind<hwy::float16_t, D> d16;
    hn::StoreU(hn::DemoteTo(d16, value), d16, reinterpret_cast<hwy::float16_t*>(to));
  } else {
    HWY_ALIGN float lanes[hn::MaxLanes(D())];
    hn::Store(value, d, lanes);
    NarrowLanes<D>(lanes, to);
  }
}

// Term `term` of every lane's group out of the channels of the groups. Not inside a lambda: those
// lose the target's attributes.
template <class D>
struct TermPicker {
  using DI = hn::RebindToSigned<D>;
  using TI = hn::TFromD<DI>;
  explicit HWY_INLINE TermPicker(int64_t terms)
      : first(hn::AndNot(hn::Set(DI(), static_cast<TI>(terms - 1)), hn::Iota(DI(), 0))) {}
  HWY_INLINE auto Indices(D d, int64_t term) const {
    return hn::IndicesFromVec(d, hn::Add(first, hn::Set(DI(), static_cast<TI>(term))));
  }
  hn::Vec<DI> first;
};

// Which inputs of a tile may be missing. Every pixel meets one, so without blocks of taps only the
// outermost `taps - 1` on either side may be.
enum class Missing { kNone, kOutermost, kAny };

// With a constant `i` the compiler drops what need not be asked.
template <int kPixels, Missing kMissing>
HWY_INLINE bool InputExists(int64_t i, int64_t taps, int64_t begin, int64_t end) {
  if (kMissing == Missing::kNone) return true;
  const bool all = kMissing == Missing::kAny;
  return !((all || i < taps - 1) && i < begin) && !((all || i >= kPixels) && i >= end);
}

// Adds the products of kTaps column taps of one row tap to the sums of a tile; inputs [begin, end)
// exist. Terms of the filter are b_term apart.
template <class D, typename S, int kPixels, int kTaps, bool kGroups, Missing kMissing>
HWY_INLINE void AddTaps(D d, const S* HWY_RESTRICT a, int64_t step, int64_t begin, int64_t end,
                        int64_t terms, const hn::TFromD<D>* HWY_RESTRICT b, int64_t b_term,
                        hn::Vec<D> (&sum)[kPixels]) {
  using T = hn::TFromD<D>;
  using V = hn::Vec<D>;
  constexpr int64_t kLanes = hn::MaxLanes(D());
  constexpr int kInputs = kPixels + kTaps - 1;
  // Groups read their inputs once for each term: from neighbouring aligned lines, converted.
  HWY_ALIGN T lines[kGroups ? kInputs * kLanes : 1];
  if constexpr (kGroups) {
#pragma GCC unroll 32
    for (int i = 0; i < kInputs; ++i) {
      if (!InputExists<kPixels, kMissing>(i, kTaps, begin, end)) continue;
      hn::Store(LoadWide(d, a + i * step), d, lines + i * kLanes);
    }
  }
  const TermPicker<D> picker(terms);
  for (int64_t term = 0; term < (kGroups ? terms : 1); ++term) {
    V filter[kTaps];
#pragma GCC unroll 8
    for (int k = 0; k < kTaps; ++k) filter[k] = hn::LoadU(d, b + k * kLanes);
    const auto indices = picker.Indices(d, term);
#pragma GCC unroll 32
    for (int i = 0; i < kInputs; ++i) {
      if (!InputExists<kPixels, kMissing>(i, kTaps, begin, end)) continue;
      V input;
      if constexpr (kGroups) {
        input = hn::TableLookupLanes(hn::Load(d, lines + i * kLanes), indices);
      } else {
        input = LoadWide(d, a + i * step);
      }
#pragma GCC unroll 8
      for (int k = 0; k < kTaps; ++k) {
        if (i - k >= 0 && i - k < kPixels) {
          sum[i - k] = MultiplyAdd(d, input, filter[k], sum[i - k]);
        }
      }
    }
    b += b_term;
  }
}

// The same for a block whose number of taps is a variable: kTaps or fewer.
template <class D, typename S, int kPixels, int kTaps, bool kGroups>
HWY_INLINE void AddTapBlock(D d, const S* HWY_RESTRICT a, int64_t step, int64_t begin, int64_t end,
                            int64_t taps, int64_t terms, const hn::TFromD<D>* HWY_RESTRICT b,
                            int64_t b_term, hn::Vec<D> (&sum)[kPixels]) {
  if (taps == kTaps) {
    constexpr int64_t kInputs = kPixels + kTaps - 1;
    if (HWY_LIKELY(begin <= 0 && end >= kInputs)) {
      AddTaps<D, S, kPixels, kTaps, kGroups, Missing::kNone>(d, a, step, begin, end, terms, b,
                                                             b_term, sum);
    } else if (begin < kInputs && end > 0) {
      AddTaps<D, S, kPixels, kTaps, kGroups, Missing::kAny>(d, a, step, begin, end, terms, b,
                                                            b_term, sum);
    }
  } else if constexpr (kTaps > 1) {
    AddTapBlock<D, S, kPixels, kTaps - 1, kGroups>(d, a, step, begin, end, taps, terms, b, b_term,
                                                   sum);
  }
}

// The same for any number of taps, in blocks of nearly equal size.
template <class D, typename S, int kPixels, bool kGroups>
HWY_INLINE void AddTapBlocks(D d, const S* HWY_RESTRICT a, int64_t step, int64_t begin, int64_t end,
                             int64_t taps, int64_t terms, const hn::TFromD<D>* HWY_RESTRICT b,
                             hn::Vec<D> (&sum)[kPixels]) {
  constexpr int64_t kLanes = hn::MaxLanes(D());
  constexpr int kBlock = kBlockTaps<hn::TFromD<D>, kGroups>;
  const int64_t b_term = taps * kLanes;
  int64_t left = taps;
  for (int64_t blocks = (taps + kBlock - 1) / kBlock; blocks > 0; --blocks) {
    const int64_t size = left / blocks;
    AddTapBlock<D, S, kPixels, kBlock, kGroups>(d, a, step, begin, end, size, terms, b, b_term,
                                                sum);
    a += size * step;
    b += size * kLanes;
    begin -= size;
    end -= size;
    left -= size;
  }
}

// Hints for the vectors of a tile's pixels `ahead` elements further on; a vector that is not
// aligned lies in two lines. Inlined by force, see base/prefetch.h.
template <int kPixels, int64_t kLanes, bool kWrite, typename S>
[[gnu::always_inline]] inline void PrefetchPixels(const S* from, int64_t step, int64_t ahead) {
  if (ahead == 0) return;
  from += ahead;
#pragma GCC unroll 16
  for (int p = 0; p < kPixels; ++p) __builtin_prefetch(from + p * step, kWrite, 3);
  constexpr int64_t kBytes = kLanes * static_cast<int64_t>(sizeof(S));
  if (static_cast<int64_t>(reinterpret_cast<uintptr_t>(from) % 64) + kBytes <= 64) return;
#pragma GCC unroll 16
  for (int p = 0; p < kPixels; ++p) __builtin_prefetch(from + p * step + kLanes - 1, kWrite, 3);
}

// One part of one vector of channels.
template <class D, typename S, int kPixels, int kTaps, bool kGroups>
void RunRowPart(const GroupRowCall<S, hn::TFromD<D>>& call, const GroupRowPart& part, const S* a,
                const hn::TFromD<D>* b, S* out) {
  using T = hn::TFromD<D>;
  using V = hn::Vec<D>;
  const D d;
  constexpr int64_t kLanes = hn::MaxLanes(D());
  const int64_t terms = kGroups ? call.terms : 1;
  const int64_t taps = kTaps > 0 ? kTaps : part.taps;
  const int64_t flush_rows = kGroupRowMostTerms / (taps * terms);
  const int64_t row_taps = call.row_taps, a_row_tap = call.a_row_tap, b_row_tap = call.b_row_tap;
  const int64_t in_step = part.in_step, out_step = part.out_step;
  const int64_t a_ahead = call.a_ahead, out_ahead = call.out_ahead;
  const bool stream = call.stream;
  for (int64_t next = 0; next < part.pixels; next += kPixels) {
    // The last tile computes pixels of the one before it again.
    const int64_t first = std::min<int64_t>(next, part.pixels - kPixels);
    const S* row = a + first * in_step;
    S* const to = out + first * out_step;
    PrefetchPixels<kPixels, kLanes, false>(row + (kTaps / 2) * in_step, in_step, a_ahead);
    PrefetchPixels<kPixels, kLanes, true>(to, out_step, out_ahead);
    const T* filter = b;
    const int64_t begin = part.in_begin - first, end = part.in_end - first;
    // Every loop over the accumulators is unrolled, else GCC keeps them in memory.
    V sum[kPixels];
    HWY_ALIGN T total[kPixels * kLanes];  // of long sums
    for (int64_t r = 0;;) {
#pragma GCC unroll 16
      for (int p = 0; p < kPixels; ++p) sum[p] = hn::Zero(d);
      const bool continued = r > 0;
      const int64_t stop = std::min(row_taps, r + flush_rows);
      for (; r < stop; ++r) {
        if constexpr (kTaps > 0) {
          AddTaps<D, S, kPixels, kTaps, kGroups, Missing::kOutermost>(
              d, row, in_step, begin, end, terms, filter, kTaps * kLanes, sum);
        } else {
          AddTapBlocks<D, S, kPixels, kGroups>(d, row, in_step, begin, end, taps, terms, filter,
                                               sum);
        }
        row += a_row_tap;
        filter += b_row_tap;
      }
      if (HWY_UNLIKELY(continued)) {
#pragma GCC unroll 16
        for (int p = 0; p < kPixels; ++p) sum[p] = hn::Add(hn::Load(d, total + p * kLanes), sum[p]);
      }
      if (HWY_LIKELY(r == row_taps)) break;
#pragma GCC unroll 16
      for (int p = 0; p < kPixels; ++p) hn::Store(sum[p], d, total + p * kLanes);
    }
#pragma GCC unroll 16
    for (int p = 0; p < kPixels; ++p) StoreNarrow(d, sum[p], to + p * out_step, stream);
  }
}

template <class D, typename S>
struct RowTable {
  using T = hn::TFromD<D>;
  using Run = void (*)(const GroupRowCall<S, T>&, const GroupRowPart&, const S*, const T*, S*);
  Run run[2][kRowTiles][kMostUnrolledTaps<T> + 1];  // [groups][tile][taps]; taps 0: more
};

template <class D, typename S, bool kGroups, int kTile, int kTaps>
constexpr void FillRowTable(RowTable<D, S>& table) {
  // More taps than three are usual for depthwise filters only.
  constexpr int kUnrolled = kGroups && kTaps > 3 ? 0 : kTaps;
  table.run[kGroups][kTile][kTaps] = &RunRowPart<D, S, kRowTilePixels[kTile], kUnrolled, kGroups>;
  if constexpr (kTaps < kMostUnrolledTaps<hn::TFromD<D>>) {
    FillRowTable<D, S, kGroups, kTile, kTaps + 1>(table);
  } else if constexpr (kTile + 1 < kRowTiles) {
    FillRowTable<D, S, kGroups, kTile + 1, 0>(table);
  }
}

template <class D, typename S>
constexpr RowTable<D, S> MakeRowTable() {
  RowTable<D, S> table{};
  FillRowTable<D, S, false, 0, 0>(table);
  if constexpr (hn::MaxLanes(D()) > 1) FillRowTable<D, S, true, 0, 0>(table);
  return table;
}

template <class D, typename S>
void RunGroupRow(const GroupRowCall<S, hn::TFromD<D>>& call) {
  using T = hn::TFromD<D>;
  static constexpr RowTable<D, S> kTable = MakeRowTable<D, S>();
  constexpr int64_t kLanes = hn::MaxLanes(D());
  const D d;
  const auto& table = kTable.run[call.terms > 1 ? 1 : 0];
  for (int64_t v = 0; v < call.vectors; ++v) {
    const int64_t channel = std::min(v * kLanes, call.last_channel);
    const auto* const b = call.b + v * call.b_vector;
    for (int64_t i = 0; i < call.part_count; ++i) {
      const GroupRowPart& part = call.parts[i];
      S* const out = call.out + part.out_offset + channel;
      if (part.taps == 0 || call.row_taps == 0) {
        for (int64_t p = 0; p < part.pixels; ++p) {
          StoreNarrow(d, hn::Zero(d), out + p * part.out_step, call.stream);
        }
        continue;
      }
      table[part.tile][part.taps <= kMostUnrolledTaps<T> ? part.taps : 0](
          call, part, call.a + part.in_offset + channel, b + part.b_offset, out);
    }
  }
}

template <typename S, typename T>
constexpr GroupRowFamily<S, T> MakeGroupRowFamily() {
  using D = hn::ScalableTag<T>;
  GroupRowFamily<S, T> family{};
  family.lanes = hn::MaxLanes(D());
  family.tiles = kRowTiles;
  for (int i = 0; i < kRowTiles; ++i) family.tile_pixels[i] = kRowTilePixels[i];
  family.run = &RunGroupRow<D, S>;
  return family;
}

}  // namespace dgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DGRAD_KERNELS_GROUP_ROWS_GROUP_ROWS_INL_H_
