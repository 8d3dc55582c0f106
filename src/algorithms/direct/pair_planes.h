// From planes of bfloat16 (NCHW) to pixels of pairs of channels.
#ifndef DGRAD_ALGORITHMS_DIRECT_PAIR_PLANES_H_
#define DGRAD_ALGORITHMS_DIRECT_PAIR_PLANES_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "src/algorithms/tensor_mover.h"
#include "src/base/integer.h"
#include "src/base/prefetch.h"
#include "src/kernels/dot/dot.h"
#include "src/kernels/transpose/transpose.h"

namespace dgrad::direct {

// Neighbouring pixels of pairs of planes that are `plane` apart; of an odd number of planes the
// last goes with zeros.
inline void PairsOfPlanes(kernels::TransposeKernel<int32_t> transpose, const BFloat16* from,
                          int64_t plane, int64_t channels, int64_t pixels,
                          kernels::BFloat16Pair* to, int64_t pitch) {
  constexpr int64_t kPlanes = 16;  // pairs of them, which fill a line of cache of a pixel
  constexpr int64_t kLine = 256;
  constexpr int64_t kScratch = int64_t{512} << 10;  // bytes that are filled at a time
  int32_t lines[kPlanes * kLine];
  const int64_t pairs = CeilDivide(channels, 2);
  const int64_t most = std::max<int64_t>(64, kScratch / (4 * pitch) & ~int64_t{15});
  for (int64_t begin = 0; begin < pixels; begin += most) {
    const int64_t end = std::min(pixels, begin + most);
    for (int64_t k = 0; k < pairs; k += kPlanes) {
      const int64_t planes = std::min(kPlanes, pairs - k);
      for (int64_t i = begin; i < end; i += kLine) {
        const int64_t count = std::min(kLine, end - i);
        for (int64_t n = 0; n < planes; ++n) {
          const BFloat16* const first = from + 2 * (k + n) * plane + i;
          const bool both = 2 * (k + n) + 1 < channels;
          const BFloat16* const second = first + (both ? plane : 0);
          PrefetchForRead(first + 2 * kPlanes * plane, 2 * count);
          PrefetchForRead(second + 2 * kPlanes * plane, 2 * count);
          for (int64_t j = 0; j < count; ++j) {
            lines[n * kLine + j] =
                static_cast<int32_t>(first[j].bits | (both ? uint32_t{second[j].bits} << 16 : 0));
          }
        }
        transpose(lines, kLine, reinterpret_cast<int32_t*>(to + i * pitch + k), pitch, planes,
                  count);
      }
    }
  }
}

// A box of out_backprop of `channels` channels, which the problem counts in pairs, to [row][column]
// [pair], pixels `pitch` pairs apart.
inline void PairsFromNhwc(const Problem& p, int64_t channels, const BFloat16* out_backprop,
                          const PixelBox& box, kernels::BFloat16Pair* to, int64_t pitch) {
  for (int64_t row = box.row_begin; row < box.row_end; ++row) {
    const BFloat16* from =
        out_backprop +
        ((box.image * p.rows.out + row) * p.columns.out + box.column_begin) * channels;
    for (int64_t i = 0; i < box.columns(); ++i, from += channels, to += pitch) {
      to[p.out_channels - 1].second = BFloat16{};
      std::memcpy(static_cast<void*>(to), from, static_cast<size_t>(channels) * sizeof(BFloat16));
    }
  }
}
inline void PairsFromNchw(const Problem& p, int64_t channels, Isa isa, const BFloat16* out_backprop,
                          const PixelBox& box, kernels::BFloat16Pair* to, int64_t pitch) {
  if (box.rows() <= 0 || box.columns() <= 0) return;
  const int64_t plane = p.rows.out * p.columns.out;
  const bool whole = box.columns() == p.columns.out;
  const int64_t count = whole ? box.rows() * box.columns() : box.columns();
  const BFloat16* const image = out_backprop + box.image * plane * channels;
  for (int64_t row = box.row_begin; row < box.row_end; ++row) {
    PairsOfPlanes(kernels::Transpose<int32_t>(isa), image + row * p.columns.out + box.column_begin,
                  plane, channels, count, to, pitch);
    if (whole) break;
    to += count * pitch;
  }
}

}  // namespace dgrad::direct

#endif  // DGRAD_ALGORITHMS_DIRECT_PAIR_PLANES_H_
