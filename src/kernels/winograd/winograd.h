// One-dimensional transforms of Winograd's short convolutions: small constant matrices (points.h)
// applied along one direction to vectors of channels. A two-dimensional transform is two passes.
#ifndef DGRAD_KERNELS_WINOGRAD_WINOGRAD_H_
#define DGRAD_KERNELS_WINOGRAD_WINOGRAD_H_

#include <cstdint>

#include "src/base/isa.h"
#include "src/kernels/winograd/points.h"

namespace dgrad::kernels {

// to[i][line][c] = sum over j of matrix[i][j] * from[j][line][c], for each line and c < channels.
template <typename T>
struct TransformCall {
  const T* from[kMaxPoints];      // line 0 of each operand
  int64_t from_line[kMaxPoints];  // elements from one line to the next; 0: one line for all
  T* to[kMaxPoints];              // line 0 of each result
  int64_t to_line;
  int64_t lines;
  int64_t channels;
  // Whole vectors are read and written even where `channels` ends in a part of one; only `exact`
  // sides are not touched beyond the channels. Lanes that are not read are zero.
  bool exact_from;
  bool exact_to;
  // Of `output`: whole vectors are stored past the caches. Only if all that `to` is made of lies on
  // 64-byte boundaries.
  bool stream;
};

template <typename T>
struct WinogradFamily {
  // True when all that was written is finite; always true but for `output`.
  using Kernel = bool (*)(const TransformCall<T>&);
  int lanes;
  Kernel input[kPointSetCount];                    // by point set; square
  Kernel output[kPointSetCount][kMaxOutputs + 1];  // by point set and outputs; else null
  Kernel filter[kMaxTaps + 1];                     // by taps, to all points of FamilyFor(taps)
};

// T: float or double.
template <typename T>
const WinogradFamily<T>& Winograd(Isa isa);

}  // namespace dgrad::kernels

#endif  // DGRAD_KERNELS_WINOGRAD_WINOGRAD_H_
