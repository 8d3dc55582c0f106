// What a task of the direct algorithm computes, and from where to where.
#ifndef DGRAD_ALGORITHMS_DIRECT_DIRECT_REGION_H_
#define DGRAD_ALGORITHMS_DIRECT_DIRECT_REGION_H_

#include <algorithm>
#include <cstdint>

#include "src/algorithms/direct/direct_plan.h"
#include "src/base/integer.h"
#include "src/kernels/gemm/gemm.h"
#include "src/threads/partition.h"

namespace dgrad::direct {

struct Range {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size() const { return end - begin; }
};

// Block `index` of `blocks` of [range), borders at multiples of unit from its beginning.
inline Range BlockOf(Range range, int64_t unit, int64_t blocks, int64_t index) {
  const int64_t units = CeilDivide(range.size(), unit);
  if (index >= units) return {range.end, range.end};
  blocks = std::min(blocks, units);
  if (index >= blocks) return {range.end, range.end};
  return {range.begin + PartBegin(units, blocks, index) * unit,
          std::min(range.end, range.begin + PartBegin(units, blocks, index + 1) * unit)};
}

// Where a pixel of out_backprop or of the result lies, elements.
struct PixelMap {
  int64_t image = 0, row = 0, column = 0;
  int64_t offset = 0;

  // Of pixels that lie side by side, beginning with those given.
  static PixelMap Box(int64_t rows, int64_t columns, int64_t channels, int64_t first_image,
                      int64_t first_row, int64_t first_column) {
    PixelMap map = {rows * columns * channels, columns * channels, channels, 0};
    map.offset = -map.At(first_image, first_row, first_column);
    return map;
  }
  int64_t At(int64_t n, int64_t h, int64_t w) const {
    return offset + n * image + h * row + w * column;
  }
};

// What a task of a band computes, and from where to where.
template <typename Factor, typename Out>
struct Region {
  Range images, rows, columns;
  int64_t channel_block = 0;
  const Factor* a = nullptr;
  PixelMap from;
  Out* out = nullptr;
  PixelMap to;
  kernels::GemmStep* steps = nullptr;
  int64_t* offsets = nullptr;
  Factor* block = nullptr;  // where a task packs a block of columns itself
};

// Of a region: one row phase, one column group, and some of its units (blocks of columns, channel
// group after channel group).
template <typename Factor>
struct Share {
  int64_t row_phase;
  const ColumnGroup& group;
  Range units;
  const Factor* block =
      nullptr;  // the packed filter of the only unit, unless it lies in the whole one
};

}  // namespace dgrad::direct

#endif  // DGRAD_ALGORITHMS_DIRECT_DIRECT_REGION_H_
