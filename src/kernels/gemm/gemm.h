// The register-tile product: a tile of result rows (pixels) by vectors of columns (channels),
// summed over a list of steps. Knows no problem; everything is pointers and offsets.
#ifndef DGRAD_KERNELS_GEMM_GEMM_H_
#define DGRAD_KERNELS_GEMM_GEMM_H_

#include <cstdint>

#include "src/base/isa.h"

namespace dgrad::kernels {

// One run of consecutive terms: row r reads a[a_offsets[r] + a_offset + i], the columns read
// b[(b_row + i) * columns of the tile ...], for i in [0, terms).
struct GemmStep {
  int64_t a_offset;
  int64_t b_row;
  int32_t terms;
  // Non-zero: the partial sum is added to the result here. Set every at most 256 terms (rounding
  // error grows with the length of a sum) and on the last step.
  int32_t flush;
};

// A: what a and b hold, another type than T only in dot/.
template <typename T, typename A = T>
struct GemmCall {
  const A* a;
  const int64_t* a_offsets;  // one per row, elements
  const A* b;                // packed: [b_row][columns of the tile], zero beyond the real columns
  T* out;
  const int64_t* out_offsets;  // one per row, elements
  const GemmStep* steps;
  int64_t step_count;  // > 0
  int64_t columns;     // columns to store, <= vectors * lanes; no other is touched
  bool accumulate;     // adds to what out holds; else the first flush overwrites it
  // Whole vectors are stored past the caches. Only without accumulate, with one flush, and if every
  // row of out begins on a 64-byte boundary.
  bool stream = false;
};

inline constexpr int kGemmMaxRows = 14;
inline constexpr int kGemmMaxVectors = 3;

// The tiles of one instruction set, sized by its registers.
template <typename T, typename A = T>
struct GemmFamily {
  using Kernel = void (*)(const GemmCall<T, A>&);
  int lanes;                                              // columns per vector
  int max_rows[kGemmMaxVectors + 1];                      // by number of vectors
  Kernel kernels[kGemmMaxVectors + 1][kGemmMaxRows + 1];  // [vectors][rows]; null beyond max_rows
};

// T: float, double or int32_t (sums wrap modulo 2^32).
template <typename T>
const GemmFamily<T>& Gemm(Isa isa);

}  // namespace dgrad::kernels

#endif  // DGRAD_KERNELS_GEMM_GEMM_H_
