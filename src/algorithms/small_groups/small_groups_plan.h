// The algorithm for groups of few channels, depthwise included: lanes are neighbouring channels of
// whole groups, and a kernel call computes a row of the result.
//
// Each axis is split into phases and a dilated phase into runs, so that neighbouring pixels of a
// run meet neighbouring inputs. Where vectors are shorter than a group, the plan is that of
// "grouped". Tensors are read and written in place; half types in groups and
// NCHW go through a task's own scratch memory.
#ifndef DGRAD_ALGORITHMS_SMALL_GROUPS_SMALL_GROUPS_PLAN_H_
#define DGRAD_ALGORITHMS_SMALL_GROUPS_SMALL_GROUPS_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "src/algorithms/algorithm.h"
#include "src/algorithms/element_types.h"
#include "src/algorithms/phases.h"
#include "src/kernels/group_rows/group_rows.h"

namespace dgrad::small_groups {

struct SmallGroupsPlan : AlgorithmPlan {
  Problem problem;
  Isa isa = Isa::kScalar;
  int slots = 1;

  std::vector<Phase> row_phases, column_phases;
  std::vector<int64_t> row_phase_of;         // by residue; -1: no tap lands there
  std::vector<int64_t> row_taps_before;      // prefix sums over row_phases
  std::vector<kernels::GroupRowPart> parts;  // every pixel of a row is in one

  // Packed filter, elements of the compute type: [vector of channels][row phase][row tap][column
  // phase][term][column tap, by rising input][lane].
  int lanes = 1;
  int64_t compute_size = 4;
  int64_t terms = 1;     // channels of a group
  int64_t vectors = 1;   // of channels; the last one ends at the last channel
  int64_t row_size = 0;  // elements of a row tap of one vector
  int64_t row_taps_total = 0;

  // Tensors are converted: rows of regions lie in scratch as [row][column][channel].
  bool converts = false;
  int64_t pixel_channels = 0;  // channels of a pixel where the kernel works

  // The grid of tasks: images x row blocks x channel blocks.
  int64_t row_blocks = 1, channel_blocks = 1;
  int64_t call_vectors = 1;  // of a kernel call: their rows stay in L1
  int64_t read_bytes = 0, slot_bytes = 0;

  std::string Describe() const override;
  Status PrepareFilter(const void* filter, void* packed, Executor& executor,
                       const Control& control) const override;
  Status Run(const void* out_backprop, const void* packed, void* in_backprop, void* workspace,
             Executor& executor, const Control& control) const override;

  int64_t vector_size() const { return row_taps_total * row_size; }
  int64_t FirstChannel(int64_t vector) const {
    const int64_t last = problem.in_channels - lanes;
    return vector * lanes < last ? vector * lanes : last;
  }
  // The last two vectors stay together if they overlap: an element belongs to one task.
  int64_t channel_units() const {
    return problem.in_channels % lanes == 0 || vectors == 1 ? vectors : vectors - 1;
  }
};

}  // namespace dgrad::small_groups

#endif  // DGRAD_ALGORITHMS_SMALL_GROUPS_SMALL_GROUPS_PLAN_H_
