// Transposition between pixel-major and channel-major blocks, and of filters while they are packed.
#ifndef DGRAD_KERNELS_TRANSPOSE_TRANSPOSE_H_
#define DGRAD_KERNELS_TRANSPOSE_TRANSPOSE_H_

#include <cstdint>

#include "src/base/isa.h"

namespace dgrad::kernels {

// to[c * to_pitch + r] = from[r * from_pitch + c] for r < rows, c < columns; pitches in elements.
template <typename T>
using TransposeKernel = void (*)(const T* from, int64_t from_pitch, T* to, int64_t to_pitch,
                                 int64_t rows, int64_t columns);

// T: float, double or int32_t.
template <typename T>
TransposeKernel<T> Transpose(Isa isa);

// The same, but lines of cache that it writes as a whole go past the caches. Only if rows of `to`
// begin on 64-byte boundaries of each other (to_pitch in whole lines) and after a fence is the
// result there for others.
template <typename T>
TransposeKernel<T> StreamingTranspose(Isa isa);

}  // namespace dgrad::kernels

#endif  // DGRAD_KERNELS_TRANSPOSE_TRANSPOSE_H_
