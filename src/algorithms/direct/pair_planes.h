// From planes of bfloat16 (NCHW) to pixels of pairs of channels.
#ifndef DGRAD_ALGORITHMS_DIRECT_PAIR_PLANES_H_
#define DGRAD_ALGORITHMS_DIRECT_PAIR_PLANES_H_

#include <algorithm>
#include <cstdint>

#include "src/algorithms/tensor_mover.h"
#include "src/base/prefetch.h"
#include "src/kernels/dot/dot.h"
#include "src/kernels/transpose/transpose.h"

namespace dgrad::direct {

// Neighbouring pixels of `pairs` pairs of planes that are `plane` apart.
inline void PairsOfPlanes(kernels::TransposeKernel<int32_t> transpose, const BFloat16* from,
                          int64_t plane, int64_t pairs, int64_t pixels, kernels::BFloat16Pair* to,
                          int64_t pitch) {
  constexpr int64_t kPlanes = 16;  // pairs of them, which fill a line of cache of a pixel
  constexpr int64_t kLine = 256;
  constexpr int64_t kScratch = int64_t{512} << 10;  // bytes that are filled at a time
  int32_t lines[kPlanes * kLine];
  const int64_t most = std::max<int64_t>(64, kScratch / (4 * pitch) & ~int64_t{15});
  for (int64_t begin = 0; begin < pixels; begin += most) {
    const int64_t end = std::min(pixels, begin + most);
    for (int64_t k = 0; k < pairs; k += kPlanes) {
      const int64_t planes = std::min(kPlanes, pairs - k);
      for (int64_t i = begin; i < end; i += kLine) {
        const int64_t count = std::min(kLine, end - i);
        for (int64_t n = 0; n < planes; ++n) {
          const BFloat16* const first = from + 2 * (k + n) * plane + i;
          const BFloat16* const second = first + plane;
          PrefetchForRead(first + 2 * kPlanes * plane, 2 * count);
          PrefetchForRead(second + 2 * kPlanes * plane, 2 * count);
          for (int64_t j = 0; j < count; ++j) {
            lines[n * kLine + j] =
                static_cast<int32_t>(first[j].bits | uint32_t{second[j].bits} << 16);
          }
        }
        transpose(lines, kLine, reinterpret_cast<int32_t*>(to + i * pitch + k), pitch, planes,
                  count);
      }
    }
  }
}

// A box of out_backprop, whose channels the problem counts in pairs, to [row][column][pair], pixels
// `pitch` pairs apart.
inline void PairsFromNhwc(const Problem& p, const kernels::BFloat16Pair* out_backprop,
                          const PixelBox& box, kernels::BFloat16Pair* to, int64_t pitch) {
  for (int64_t row = box.row_begin; row < box.row_end; ++row) {
    const kernels::BFloat16Pair* from =
        out_backprop +
        ((box.image * p.rows.out + row) * p.columns.out + box.column_begin) * p.out_channels;
    for (int64_t i = 0; i < box.columns(); ++i, from += p.out_channels, to += pitch) {
      std::copy(from, from + p.out_channels, to);
    }
  }
}
inline void PairsFromNchw(const Problem& p, Isa isa, const BFloat16* out_backprop,
                          const PixelBox& box, kernels::BFloat16Pair* to, int64_t pitch) {
  if (box.rows() <= 0 || box.columns() <= 0) return;
  const int64_t plane = p.rows.out * p.columns.out;
  const bool whole = box.columns() == p.columns.out;
  const int64_t count = whole ? box.rows() * box.columns() : box.columns();
  const BFloat16* const image = out_backprop + box.image * plane * p.out_channels * 2;
  for (int64_t row = box.row_begin; row < box.row_end; ++row) {
    PairsOfPlanes(kernels::Transpose<int32_t>(isa), image + row * p.columns.out + box.column_begin,
                  plane, p.out_channels, count, to, pitch);
    if (whole) break;
    to += count * pitch;
  }
}

}  // namespace dgrad::direct

#endif  // DGRAD_ALGORITHMS_DIRECT_PAIR_PLANES_H_
