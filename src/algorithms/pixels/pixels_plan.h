// The algorithm for few result channels: neighbouring pixels of a phase are the lanes.
//
// A task turns the rows of out_backprop that its region reads into planes, [row][channel][column],
// with zeros beyond the borders, so that every pixel of a phase meets all column taps (row taps are
// exact, by segments). Zeros times finite filter values add nothing; a filter that is not finite
// goes to the direct algorithm, whose plan this one carries.
#ifndef DGRAD_ALGORITHMS_PIXELS_PIXELS_PLAN_H_
#define DGRAD_ALGORITHMS_PIXELS_PIXELS_PLAN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/algorithms/algorithm.h"
#include "src/algorithms/phases.h"

namespace dgrad::pixels {

inline constexpr int64_t kMostChannels = 8;   // of the result
inline constexpr int64_t kChunk = 16;         // terms: all taps of a chunk read the same L1 lines
inline constexpr int64_t kHeaderBytes = 64;   // of the packed filter: a Header
inline constexpr int64_t kMaxVectors = 2048;  // of a product; each has two offsets in scratch

// What the packed filter begins with.
struct Header {
  int64_t finite;  // 0: what follows is packed for the direct algorithm
};

struct PixelsPlan : AlgorithmPlan {
  Problem problem;
  Isa isa = Isa::kScalar;
  int slots = 1;
  std::unique_ptr<const AlgorithmPlan> fallback;

  std::vector<Phase> row_phases, column_phases;
  bool covers = true;  // every pixel meets a tap

  // Packed filter after the header, elements of the compute type:
  // [row phase][column phase][block of channels][chunk][row tap][column tap][term][channel].
  int64_t compute_size = 4;
  int lanes = 1;
  int64_t chunks = 1;
  int64_t column_taps_total = 0;
  std::vector<int64_t> row_taps_before, column_taps_before;

  // Lines of a region: column j - shift of a phase lies at j - shift - (first j - most_shift).
  int64_t most_shift = 0, least_shift = 0;

  // The grid of tasks, and the scratch of a slot in bytes.
  int64_t row_blocks = 1, column_blocks = 1;
  int64_t row_unit = 1, column_unit = 1;
  int64_t slot_bytes = 0, steps_bytes = 0, offsets_bytes = 0, lines_bytes = 0;

  std::string Describe() const override;
  Status PrepareFilter(const void* filter, void* packed, Executor& executor,
                       const Control& control) const override;
  Status Run(const void* out_backprop, const void* packed, void* in_backprop, void* workspace,
             Executor& executor, const Control& control) const override;

  // Elements of a line for `length` indices of a phase: whole vectors and the reach of the taps; an
  // odd number of lanes apart, so that lines do not fall on the same cache sets.
  int64_t LinePitch(int64_t length) const {
    const int64_t vectors = (length + most_shift - least_shift + 2 * lanes - 1) / lanes;
    return (vectors | 1) * lanes;
  }
  int64_t PackedOffset(int64_t row_phase, int64_t column_phase) const {
    return problem.out_channels * problem.in_channels *
           (row_taps_before[row_phase] * column_taps_total +
            row_phases[row_phase].taps * column_taps_before[column_phase]);
  }
};

}  // namespace dgrad::pixels

#endif  // DGRAD_ALGORITHMS_PIXELS_PIXELS_PLAN_H_
