// Pixels of out_backprop as planes: turned, and converted to the compute type.
#ifndef DGRAD_ALGORITHMS_TURN_H_
#define DGRAD_ALGORITHMS_TURN_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "src/base/isa.h"
#include "src/kernels/convert/convert.h"
#include "src/kernels/transpose/transpose.h"

namespace dgrad {

// to[k * pitch + i] = from[i * channels + k] for i < pixels, k < channels.
template <typename S, typename T>
void TurnPixels(Isa isa, const S* from, int64_t pixels, int64_t channels, T* to, int64_t pitch) {
  const kernels::TransposeKernel<T> transpose = kernels::Transpose<T>(isa);
  if constexpr (std::is_same_v<S, T>) {
    transpose(from, channels, to, pitch, pixels, channels);
  } else {
    constexpr int64_t kRun = 16;  // converted at a time
    constexpr int64_t kDepth = 256;
    const kernels::ConvertFamily& convert = kernels::Convert(isa);
    T block[kRun * kDepth];
    for (int64_t i = 0; i < pixels; i += kRun) {
      const int64_t count = std::min(kRun, pixels - i);
      for (int64_t k = 0; k < channels; k += kDepth) {
        const int64_t depth = std::min(kDepth, channels - k);
        for (int64_t x = 0; x < count; ++x) {
          kernels::Widen(convert, from + (i + x) * channels + k, block + x * kDepth, depth);
        }
        transpose(block, kDepth, to + k * pitch + i, pitch, count, depth);
      }
    }
  }
}

}  // namespace dgrad

#endif  // DGRAD_ALGORITHMS_TURN_H_
