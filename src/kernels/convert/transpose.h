// Transposition between pixel-major and channel-major blocks.
#ifndef DGRAD_KERNELS_CONVERT_TRANSPOSE_H_
#define DGRAD_KERNELS_CONVERT_TRANSPOSE_H_

#include <algorithm>
#include <cstdint>

namespace dgrad::kernels {

// to[c * to_pitch + r] = from[r * from_pitch + c] for r < rows, c < columns; pitches in elements.
template <typename T>
void Transpose(const T* from, int64_t from_pitch, T* to, int64_t to_pitch, int64_t rows,
               int64_t columns) {
  constexpr int64_t kBlock = 16;  // elements: a cache line of either side and few sets of the L1
  for (int64_t r0 = 0; r0 < rows; r0 += kBlock) {
    const int64_t r1 = std::min(rows, r0 + kBlock);
    for (int64_t c0 = 0; c0 < columns; c0 += kBlock) {
      const int64_t c1 = std::min(columns, c0 + kBlock);
      for (int64_t c = c0; c < c1; ++c) {
        for (int64_t r = r0; r < r1; ++r) to[c * to_pitch + r] = from[r * from_pitch + c];
      }
    }
  }
}

}  // namespace dgrad::kernels

#endif  // DGRAD_KERNELS_CONVERT_TRANSPOSE_H_
