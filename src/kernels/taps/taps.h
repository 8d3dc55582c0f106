// Products whose columns are the taps and result channels of a filter, and the sums that put them
// together: for results of few channels. Knows no problem; everything is pointers and pitches.
#ifndef DGRAD_KERNELS_TAPS_TAPS_H_
#define DGRAD_KERNELS_TAPS_TAPS_H_

#include <cstdint>

#include "src/base/isa.h"

namespace dgrad::kernels {

// out[r * out_row + c] = sum over k < terms of a[r * a_row + k * a_term] * b[k * b_term + c], in
// this order. Whole vectors of columns are read and written.
template <typename T>
struct TapsProductCall {
  const T* a;
  int64_t a_row, a_term;
  const T* b;
  int64_t b_term;
  int64_t terms;  // > 0
  T* out;
  int64_t out_row;
  bool accumulate;  // adds to what out holds
  // ahead[k * ahead_step] will be read soon: a hint, the address need not exist.
  const T* ahead;
  int64_t ahead_step;
};

// The same for kTapsDots columns: out[r * kTapsDots + c] for r < rows, where terms are the lanes
// and pairs of columns share a vector of sums: even lanes have one column, odd lanes the other,
// each times the term of its lane and then that of its neighbour. Lanes are added up in a fixed
// tree.
template <typename T>
struct TapsDotsCall {
  const T* a;
  int64_t a_row;  // terms are neighbours
  const T* b;     // packed as TapsDotsAt tells, zeros beyond the terms
  int64_t terms;  // > 0
  int64_t rows;   // any number > 0; rounded up to dot_rows, as many are written
  T* out;
  int64_t ahead;  // elements: a + r * a_row + ahead will be read soon, a hint
};

// out[g * width + i] = sum over s < sources of source[s][g * source_step + i], in this order, for
// g < groups and i < width; sources from `whole` on count for i < rest only. Without a source:
// zeros. Up to kTapsSlack elements behind each source and behind out are read or written.
template <typename T>
struct TapsSumCall {
  const T* const* source;
  int64_t sources, whole;
  int64_t width, rest;  // > 0, rest <= width
  int64_t groups;
  int64_t source_step;
  T* out;
};

inline constexpr int64_t kTapsSlack = 16;
inline constexpr int64_t kTapsDots = 4;
// Where the packed filter of the dots has a term of a column: [vector of terms][pair of columns]
// [own terms, neighbours' terms][lane].
constexpr int64_t TapsDotsAt(int64_t lanes, int64_t term, int64_t column) {
  const int64_t lane = term % lanes;
  const int64_t neighbours = (lane + column) % 2;
  return ((term / lanes * 2 + column / 2) * 2 + neighbours) * lanes +
         (neighbours ? lane ^ 1 : lane);
}

inline constexpr int kTapsMaxRows = 14;
inline constexpr int kTapsMaxVectors = 3;

// The tiles of one instruction set, sized by its registers.
template <typename T>
struct TapsFamily {
  using Product = void (*)(const TapsProductCall<T>&);
  int lanes;                                                // columns per vector
  int max_rows[kTapsMaxVectors + 1];                        // by number of vectors
  Product products[kTapsMaxVectors + 1][kTapsMaxRows + 1];  // [vectors][rows]
  int64_t dot_rows;                                         // 0: no dots
  void (*dots)(const TapsDotsCall<T>&);
  void (*sum)(const TapsSumCall<T>&);
};

// T: float, double or int32_t (sums wrap modulo 2^32).
template <typename T>
const TapsFamily<T>& Taps(Isa isa);

}  // namespace dgrad::kernels

#endif  // DGRAD_KERNELS_TAPS_TAPS_H_
