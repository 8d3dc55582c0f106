#include "src/kernels/transpose/transpose.h"

#include <algorithm>

#include "src/base/prefetch.h"
#include "src/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/transpose/transpose.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dgrad::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
void ByElement(const T* from, int64_t from_pitch, T* to, int64_t to_pitch, int64_t rows,
               int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) to[c * to_pitch + r] = from[r * from_pitch + c];
  }
}

#if HWY_TARGET == HWY_SCALAR
template <typename T, bool kStream>
void TransposeAll(const T* from, int64_t from_pitch, T* to, int64_t to_pitch, int64_t rows,
                  int64_t columns) {
  ByElement(from, from_pitch, to, to_pitch, rows, columns);
}
#else

// Vectors are made of 128-bit blocks, within which rows and columns change places cheaply. A tile
// has a vector of rows, and columns of one or more blocks.
template <class D>
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
template <class D>
constexpr int64_t kBlock = 16 / static_cast<int64_t>(sizeof(hn::TFromD<D>));

// Block b of the vector from `from` + b * step.
template <class D>
HWY_INLINE hn::Vec<D> LoadBlocks(D d, const hn::TFromD<D>* from, int64_t step) {
  if constexpr (kLanes<D> == kBlock<D>) {
    return hn::LoadU(d, from);
  } else {
    using Half = hn::Half<D>;
    const auto low = LoadBlocks(Half(), from, step);
    const auto high = LoadBlocks(Half(), from + kLanes<Half> / kBlock<D> * step, step);
    return hn::Combine(d, high, low);
  }
}

// v[i][j] of each block becomes v[j][i].
template <class D, class V>
HWY_INLINE void TransposeBlocks(D d, V (&v)[2]) {
  const V first = hn::InterleaveLower(d, v[0], v[1]);
  v[1] = hn::InterleaveUpper(d, v[0], v[1]);
  v[0] = first;
}
template <class D, class V>
HWY_INLINE void TransposeBlocks(D d, V (&v)[4]) {
  const hn::RepartitionToWide<D> wide;
  const auto low01 = hn::BitCast(wide, hn::InterleaveLower(d, v[0], v[1]));
  const auto high01 = hn::BitCast(wide, hn::InterleaveUpper(d, v[0], v[1]));
  const auto low23 = hn::BitCast(wide, hn::InterleaveLower(d, v[2], v[3]));
  const auto high23 = hn::BitCast(wide, hn::InterleaveUpper(d, v[2], v[3]));
  v[0] = hn::BitCast(d, hn::InterleaveLower(wide, low01, low23));
  v[1] = hn::BitCast(d, hn::InterleaveUpper(wide, low01, low23));
  v[2] = hn::BitCast(d, hn::InterleaveLower(wide, high01, high23));
  v[3] = hn::BitCast(d, hn::InterleaveUpper(wide, high01, high23));
}

template <int64_t kParts, bool kStream, class D, typename T>
HWY_INLINE void Tile(D d, const T* from, int64_t from_pitch, T* to, int64_t to_pitch) {
  hn::Vec<D> v[kParts][kBlock<D>];
  // A row's blocks one after the other: rows that are a multiple of 4096 bytes apart share a few
  // lines of the first cache.
#pragma GCC unroll 4
  for (int64_t i = 0; i < kBlock<D>; ++i) {
#pragma GCC unroll 4
    for (int64_t part = 0; part < kParts; ++part) {
      v[part][i] = LoadBlocks(d, from + i * from_pitch + part * kBlock<D>, kBlock<D> * from_pitch);
    }
  }
#pragma GCC unroll 4
  for (int64_t part = 0; part < kParts; ++part) {
    TransposeBlocks(d, v[part]);
#pragma GCC unroll 4
    for (int64_t i = 0; i < kBlock<D>; ++i) {
      T* const at = to + (part * kBlock<D> + i) * to_pitch;
      if constexpr (kStream) {
        hn::Stream(v[part][i], d, at);
      } else {
        hn::StoreU(v[part][i], d, at);
      }
    }
  }
}

// All of at least a tile; the last tiles overlap those before.
template <int64_t kParts, bool kStream, class D, typename T>
HWY_INLINE void Tiles(D d, const T* from, int64_t from_pitch, T* to, int64_t to_pitch, int64_t rows,
                      int64_t columns) {
  constexpr int64_t kRows = kLanes<D>;
  constexpr int64_t kColumns = kParts * kBlock<D>;
  constexpr int64_t kLine = kCacheLine / static_cast<int64_t>(sizeof(T));
  constexpr bool kWhole = kRows == kColumns && kRows == kLanes<hn::ScalableTag<T> >;
  // Only whole lines: a line that two tiles write would go to memory twice.
  constexpr bool kStreams = kStream && kRows == kLine;
  const int64_t line_begin = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) / sizeof(T));
  for (int64_t r0 = 0; r0 < rows; r0 += kRows) {
    const int64_t r = std::min(r0, rows - kRows);
    for (int64_t c0 = 0; c0 < columns; c0 += kColumns) {
      const int64_t c = std::min(c0, columns - kColumns);
      // What the tiles below come from and go to, once per cache line.
      if (kWhole && c % kLine == 0) {
        for (int64_t i = 0; i < kRows; ++i) {
          PrefetchForRead(from + (r + kRows + i) * from_pitch + c, 1);
        }
      }
      if (kWhole && !kStreams && r % kLine == 0) {
        for (int64_t i = 0; i < kColumns; ++i) {
          PrefetchForWrite(to + (c + i) * to_pitch + r + kLine, 1);
        }
      }
      const T* const tile = from + r * from_pitch + c;
      if (kStreams && (line_begin + r) % kLine == 0) {
        Tile<kParts, kStreams>(d, tile, from_pitch, to + c * to_pitch + r, to_pitch);
      } else {
        Tile<kParts, false>(d, tile, from_pitch, to + c * to_pitch + r, to_pitch);
      }
    }
  }
}

template <typename T, bool kStream>
void TransposeAll(const T* from, int64_t from_pitch, T* to, int64_t to_pitch, int64_t rows,
                  int64_t columns) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kRows = kLanes<decltype(d)>;
  constexpr int64_t kSmall = 16 / static_cast<int64_t>(sizeof(T));
  if (rows >= kRows && columns >= kRows) {
    Tiles<kRows / kSmall, kStream>(d, from, from_pitch, to, to_pitch, rows, columns);
  } else if (rows >= kRows && columns >= kSmall) {
    Tiles<1, kStream>(d, from, from_pitch, to, to_pitch, rows, columns);
  } else if (rows >= kSmall && columns >= kSmall) {
    Tiles<1, false>(hn::FixedTag<T, kSmall>(), from, from_pitch, to, to_pitch, rows, columns);
  } else {
    ByElement(from, from_pitch, to, to_pitch, rows, columns);
  }
}
#endif

TransposeKernel<float> TransposeF32() { return &TransposeAll<float, false>; }
TransposeKernel<float> StreamF32() { return &TransposeAll<float, true>; }
TransposeKernel<int32_t> TransposeI32() { return &TransposeAll<int32_t, false>; }
TransposeKernel<int32_t> StreamI32() { return &TransposeAll<int32_t, true>; }
TransposeKernel<double> TransposeF64() { return &TransposeAll<double, false>; }
TransposeKernel<double> StreamF64() { return &TransposeAll<double, true>; }

}  // namespace dgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dgrad::kernels {

template <>
TransposeKernel<float> Transpose<float>(Isa isa) {
  return DGRAD_SELECT(isa, TransposeF32);
}
template <>
TransposeKernel<float> StreamingTranspose<float>(Isa isa) {
  return DGRAD_SELECT(isa, StreamF32);
}
template <>
TransposeKernel<int32_t> Transpose<int32_t>(Isa isa) {
  return DGRAD_SELECT(isa, TransposeI32);
}
template <>
TransposeKernel<int32_t> StreamingTranspose<int32_t>(Isa isa) {
  return DGRAD_SELECT(isa, StreamI32);
}
template <>
TransposeKernel<double> Transpose<double>(Isa isa) {
  return DGRAD_SELECT(isa, TransposeF64);
}
template <>
TransposeKernel<double> StreamingTranspose<double>(Isa isa) {
  return DGRAD_SELECT(isa, StreamF64);
}

}  // namespace dgrad::kernels
#endif  // HWY_ONCE
