// One row of the result for groups of few channels: lanes are neighbouring channels, of whole
// groups, so that tensors are read and written where they lie. A vector of out_backprop that is
// read once serves all column taps that use it.
#ifndef DGRAD_KERNELS_GROUP_ROWS_GROUP_ROWS_H_
#define DGRAD_KERNELS_GROUP_ROWS_GROUP_ROWS_H_

#include <cstdint>

#include "src/base/isa.h"

namespace dgrad::kernels {

// Pixels of a row that are out_step apart and meet the same run of taps, inputs in_step apart:
// pixel j meets inputs j .. j + taps - 1, of which [in_begin, in_end) exist; each pixel meets one
// at least, unless taps is 0, which gives zeros.
struct GroupRowPart {
  int64_t in_offset = 0;  // elements from the row of out_backprop to input 0, which may not exist
  int64_t in_step = 0;
  int64_t in_begin = 0, in_end = 0;
  int64_t out_offset = 0;  // elements from the row of the result to pixel 0
  int64_t out_step = 0;
  int64_t pixels = 0;
  int64_t b_offset = 0;  // elements from the filter of the row tap
  int32_t taps = 0;
  int32_t tile = 0;  // index of the tile's size, which is at most `pixels`
};

// S: the tensors' type; T: the compute type.
template <typename S, typename T>
struct GroupRowCall {
  const S* a;         // row of out_backprop that the first row tap meets
  int64_t a_row_tap;  // elements to the row of the next one
  int64_t row_taps;   // 0: a row of zeros
  S* out;             // row of the result
  // Packed: [vector][row tap][...part's b_offset][term][column tap, by rising input][lane].
  const T* b;
  int64_t b_row_tap, b_vector;
  const GroupRowPart* parts;
  int64_t part_count;
  // Vectors begin at channels 0, lanes, 2 * lanes, ..., but none after last_channel: the last one
  // may compute channels again that the one before it has.
  int64_t vectors;
  int64_t last_channel;
  int64_t terms;  // channels of a group: 1, or a power of two that divides lanes (1 with one lane)
  // Elements from `a` and `out` to rows that will be used soon; 0: none.
  int64_t a_ahead, out_ahead;
  // Vectors are stored past the caches. Only if each begins on a 64-byte boundary, and S is T.
  bool stream = false;
};

inline constexpr int kGroupRowTiles = 5;
inline constexpr int kGroupRowMostTerms = 256;  // of a row tap: terms * taps of a part

// Order of summation of an element: row taps, blocks of column taps where these are many, terms,
// column taps by rising input; partial sums of whole row taps, at most 256 terms.
template <typename S, typename T>
struct GroupRowFamily {
  int lanes;
  int tiles;                        // of this instruction set
  int tile_pixels[kGroupRowTiles];  // rising
  void (*run)(const GroupRowCall<S, T>& call);
};

// (S, T): (Float16, float), (BFloat16, float), (float, float), (double, double), (int32_t,
// int32_t).
template <typename S, typename T>
const GroupRowFamily<S, T>& GroupRows(Isa isa);

// The tile that computes `pixels` pixels with the least work.
template <typename S, typename T>
int BestGroupRowTile(const GroupRowFamily<S, T>& family, int64_t pixels) {
  int best = 0;
  double best_cost = 0;
  for (int i = 0; i < family.tiles && family.tile_pixels[i] <= pixels; ++i) {
    const int64_t size = family.tile_pixels[i];
    // Short tiles wait for their own sums.
    const double tile_cost = static_cast<double>(size < 4 ? 4 : size) + 0.5;
    const int64_t count = (pixels + size - 1) / size;
    const double cost = static_cast<double>(count) * tile_cost;
    if (i == 0 || cost <= best_cost) {
      best = i;
      best_cost = cost;
    }
  }
  return best;
}

}  // namespace dgrad::kernels

#endif  // DGRAD_KERNELS_GROUP_ROWS_GROUP_ROWS_H_
