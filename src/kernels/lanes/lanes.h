// Products whose rows are vectors. Lanes are groups, each with a column value of its own, so that
// grouped and depthwise problems fill whole vectors however few channels a group has; or pixels
// that share their column values, for results of few channels.
#ifndef DGRAD_KERNELS_LANES_LANES_H_
#define DGRAD_KERNELS_LANES_LANES_H_

#include <cstdint>

#include "src/base/isa.h"
#include "src/kernels/gemm/gemm.h"

namespace dgrad::kernels {

// out[r][v][lane] += sum over terms of a[r][term][lane] * b[term][v][lane].
template <typename T>
struct LanesCall {
  const T* a;
  const int64_t* a_offsets;  // one per row, elements
  int64_t a_term;            // elements between terms; lanes are neighbours
  const T* b;                // packed, zero beyond the real lanes
  T* out;
  const int64_t* out_offsets;  // one per row, elements
  int64_t out_vector;          // elements between vectors; lanes are neighbours
  const GemmStep* steps;       // a_offset, then terms that are a_term apart
  int64_t step_count;          // > 0
  int64_t used_lanes;          // lanes to read and store, <= lanes; no other is touched
  bool accumulate;
};

// Tiles as in GemmFamily.
template <typename T>
struct LanesFamily {
  using Kernel = void (*)(const LanesCall<T>&);
  int lanes;
  int max_rows[kGemmMaxVectors + 1];
  Kernel kernels[kGemmMaxVectors + 1][kGemmMaxRows + 1];  // b: [b_row][vectors][lanes]
  // One value for all lanes: b is [b_row][vectors]; every lane is used.
  Kernel scalars[kGemmMaxVectors + 1][kGemmMaxRows + 1];
};

// T: float, double or int32_t.
template <typename T>
const LanesFamily<T>& Lanes(Isa isa);

}  // namespace dgrad::kernels

#endif  // DGRAD_KERNELS_LANES_LANES_H_
