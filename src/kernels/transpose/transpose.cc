#include "src/kernels/transpose/transpose.h"

#include <algorithm>

#include "src/base/prefetch.h"
#include "src/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/transpose/transpose.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "src/kernels/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dgrad::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR
template <typename T>
void TransposeAll(const T* from, int64_t from_pitch, T* to, int64_t to_pitch, int64_t rows,
                  int64_t columns) {
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t r = 0; r < rows; ++r) to[c * to_pitch + r] = from[r * from_pitch + c];
  }
}
#else

// Tiles are square, as wide as a vector. Vectors are made of 128-bit blocks, within which rows and
// columns change places cheaply.
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

template <class D, typename T>
HWY_INLINE void Tile(D d, const T* from, int64_t from_pitch, T* to, int64_t to_pitch) {
  constexpr int64_t kParts = kLanes<D> / kBlock<D>;
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
      hn::StoreU(v[part][i], d, to + (part * kBlock<D> + i) * to_pitch);
    }
  }
}

// `count` elements, at most a vector.
template <class D, typename T>
HWY_INLINE void CopyPart(D d, const T* from, T* to, int64_t count) {
  if (count == kLanes<D>) {
    hn::StoreU(hn::LoadU(d, from), d, to);
  } else {
    StorePartial(d, LoadPartial(d, from, count), to, count, false);
  }
}

// A tile that lacks rows or columns, through memory of its own.
template <class D, typename T>
void PartialTile(D d, const T* from, int64_t from_pitch, T* to, int64_t to_pitch, int64_t rows,
                 int64_t columns) {
  HWY_ALIGN T in[kLanes<D> * kLanes<D>] = {};
  HWY_ALIGN T out[kLanes<D> * kLanes<D>];
  for (int64_t r = 0; r < rows; ++r) {
    CopyPart(d, from + r * from_pitch, in + r * kLanes<D>, columns);
  }
  Tile(d, in, kLanes<D>, out, kLanes<D>);
  for (int64_t c = 0; c < columns; ++c) {
    CopyPart(d, out + c * kLanes<D>, to + c * to_pitch, rows);
  }
}

template <typename T>
void TransposeAll(const T* from, int64_t from_pitch, T* to, int64_t to_pitch, int64_t rows,
                  int64_t columns) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kSize = kLanes<decltype(d)>;
  const int64_t height = std::min(rows, kSize);
  const int64_t width = std::min(columns, kSize);
  const bool whole = height == kSize && width == kSize;
  for (int64_t r0 = 0; r0 < rows; r0 += kSize) {
    // The last tiles overlap those before.
    const int64_t r = std::min(r0, rows - height);
    for (int64_t c0 = 0; c0 < columns; c0 += kSize) {
      const int64_t c = std::min(c0, columns - width);
      // What the tile below comes from and goes to.
      for (int64_t i = 0; i < kSize; ++i) {
        PrefetchForRead(from + (r + kSize + i) * from_pitch + c, 1);
        PrefetchForWrite(to + (c + i) * to_pitch + r + kSize, 1);
      }
      if (whole) {
        Tile(d, from + r * from_pitch + c, from_pitch, to + c * to_pitch + r, to_pitch);
      } else {
        PartialTile(d, from + r * from_pitch + c, from_pitch, to + c * to_pitch + r, to_pitch,
                    height, width);
      }
    }
  }
}
#endif

TransposeKernel<float> TransposeF32() { return &TransposeAll<float>; }
TransposeKernel<int32_t> TransposeI32() { return &TransposeAll<int32_t>; }
TransposeKernel<double> TransposeF64() { return &TransposeAll<double>; }

}  // namespace dgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dgrad::kernels {

template <>
TransposeKernel<float> Transpose<float>(Isa isa) {
  return DGRAD_SELECT(isa, TransposeF32);
}
template <>
TransposeKernel<int32_t> Transpose<int32_t>(Isa isa) {
  return DGRAD_SELECT(isa, TransposeI32);
}
template <>
TransposeKernel<double> Transpose<double>(Isa isa) {
  return DGRAD_SELECT(isa, TransposeF64);
}

}  // namespace dgrad::kernels
#endif  // HWY_ONCE
