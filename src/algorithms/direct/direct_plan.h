// The direct algorithm's plan: phases, packed filter layout, task grid, scratch layout.
//
// in_backprop is cut into regions (images x rows x columns x channels); a task computes one. Inside
// a region each phase is cut into segments whose pixels meet the same taps, and a segment is one
// product: [pixels] x [taps * group_out_channels] x [columns]. Pixels are register-tile rows with
// an offset each, so a tile may span image rows and images. Taps that the border clips are never
// multiplied.
//
// Three algorithms share all this. They differ in what a vector holds: "direct" and "dot" have
// neighbouring result channels of one group as lanes, "grouped" the same channel of neighbouring
// groups; and in what a term is: of "dot" a pair of neighbouring channels of bfloat16 (src/kernels/
// dot/dot.h), so that its plan is that of a problem with half the channels of out_backprop. An odd
// channel goes with zeros.
#ifndef DGRAD_ALGORITHMS_DIRECT_DIRECT_PLAN_H_
#define DGRAD_ALGORITHMS_DIRECT_DIRECT_PLAN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/algorithms/algorithm.h"
#include "src/algorithms/blocks.h"
#include "src/algorithms/element_types.h"
#include "src/algorithms/phases.h"
#include "src/algorithms/steps.h"
#include "src/kernels/dot/dot.h"
#include "src/kernels/gemm/gemm.h"

namespace dgrad::direct {

// Column phases computed as one: neighbouring residues whose taps have the same shifts lie side by
// side in NHWC memory, so their channels are columns of one product ([residue][channel]). Else one
// phase. Only with one group and results in place.
struct ColumnGroup {
  Phase phase;              // of the first residue; its length is the largest
  int64_t fold = 1;         // residues
  int64_t full_length = 0;  // j below it have all residues; the last j may lack some
  int64_t columns = 0;      // fold * group_in_channels
  int64_t vectors = 0;      // columns / lanes, rounded up; grouped: one a column
  // Sum of taps * vectors over the groups before this one: where its packed filter begins.
  int64_t packed_before = 0;
};

struct DirectPlan : AlgorithmPlan {
  Problem problem;           // channels of out_backprop counted in terms
  int64_t out_elements = 0;  // those channels
  Isa isa = Isa::kScalar;
  int slots = 1;

  std::vector<Phase> row_phases;
  std::vector<ColumnGroup> column_groups;
  bool lanes_are_groups = false;  // the algorithm is "grouped"
  bool terms_are_pairs = false;   // the algorithm is "dot"
  bool covers = true;             // every pixel meets a tap
  bool converts_in = false;       // out_backprop is widened, turned to NHWC or spread first
  bool stages_out = false;        // results go through scratch: half types and NCHW; few of "dot"

  // Packed filter, elements of the compute type (pairs are as large as that):
  // [channel group][row phase][column group][block][chunk of terms][row tap][column tap][term]
  // [vector][lane].
  int lanes = 1;
  int64_t channel_groups = 1;            // groups; grouped: groups / lanes, rounded up
  int64_t compute_size = 4;              // bytes of the compute type
  int64_t partial_terms = kMaxTerms;     // of one partial sum
  int64_t term_chunks = 1;               // group_out_channels in chunks of at most that
  int64_t row_taps_total = 0;            // over the row phases
  int64_t group_stride = 0;              // elements of one channel group
  std::vector<int64_t> row_taps_before;  // prefix sums over row_phases

  int64_t input_pitch = 0;  // elements from one converted pixel to the next
  // Each task converts what it reads; else whole bands are converted.
  bool converts_per_task = false;
  // Bands: images x rows of in_backprop whose converted out_backprop is in scratch at a time. One
  // band is everything when bands are not converted.
  int64_t band_images = 0;
  int64_t row_bands = 1;
  int64_t band_read_rows = 0;  // most rows of out_backprop that a band reads

  // The grid of tasks of one band.
  int64_t image_blocks = 1, row_blocks = 1, column_blocks = 1, channel_blocks = 1;
  int64_t row_unit = 1, column_unit = 1;  // block borders are multiples of these
  int64_t pixel_limit = 0;                // most pixels of one phase in a region

  // Scratch of a slot, bytes, after the converted band.
  int64_t converted_bytes = 0;
  int64_t slot_bytes = 0;
  int64_t steps_bytes = 0, offsets_bytes = 0, task_input_bytes = 0, task_filter_bytes = 0,
          staging_bytes = 0;
  int64_t shared_filter_bytes = 0;  // packed filter that may stay in cache beside the tiles
  int64_t pass_rows = 0;            // packed filter rows of a pass: what stays in L2

  std::string Describe() const override;
  Status PrepareFilter(const void* filter, void* packed, Executor& executor,
                       const Control& control) const override;
  Status Run(const void* out_backprop, const void* packed, void* in_backprop, void* workspace,
             Executor& executor, const Control& control) const override;
  Status RunUnpacked(const void* out_backprop, const void* filter, void* in_backprop,
                     void* workspace, Executor& executor, const Control& control) const override;

  int64_t vectors_total() const {
    return column_groups.empty()
               ? 0
               : column_groups.back().packed_before +
                     column_groups.back().phase.taps * column_groups.back().vectors;
  }
  // Elements of a block of columns.
  int64_t BlockElements(int64_t row_phase, const ColumnGroup& columns, int64_t vectors) const {
    return vectors * lanes * row_phases[row_phase].taps * columns.phase.taps *
           problem.group_out_channels();
  }
  // Elements before the packed filter of (channel group, row phase, column group).
  int64_t PackedOffset(int64_t channel_group, int64_t row_phase, const ColumnGroup& columns) const {
    return channel_group * group_stride + problem.group_out_channels() * lanes *
                                              (row_taps_before[row_phase] * vectors_total() +
                                               row_phases[row_phase].taps * columns.packed_before);
  }
};

inline constexpr int64_t kMaxPixels = 4096;

// What the loops read, multiply, add up and write.
template <typename S, typename T>
struct Types {
  using Source = S;  // elements of out_backprop and of the filter
  using Factor = T;  // what they are converted to, unless it is the same
  using Sum = T;     // of staged results
  using Out = T;     // what the kernels write, in scratch unless it is Result
  using Result = S;  // elements of in_backprop
  static const kernels::GemmFamily<T>& Tiles(Isa isa) { return kernels::Gemm<T>(isa); }
};

template <typename O>
struct PairTypes {
  using Source = kernels::BFloat16Pair;
  using Factor = kernels::BFloat16Pair;
  using Sum = float;
  using Out = O;
  using Result = BFloat16;
  static const kernels::GemmFamily<O, Factor>& Tiles(Isa) { return *kernels::Dot<O>(); }
};

// body(types) with a value of the plan's types; returns what it returns.
template <typename Body>
auto WithTypes(const DirectPlan& plan, const Body& body) {
  if (plan.terms_are_pairs) {
    return plan.stages_out ? body(PairTypes<float>{}) : body(PairTypes<BFloat16>{});
  }
  return WithElementTypes(plan.problem.dtype, [&](auto storage, auto compute) {
    return body(Types<decltype(storage), decltype(compute)>{});
  });
}

// A plan of "direct" whose column groups are single phases, for algorithms that read its packed
// filter.
Status MakePlanWithoutFolds(const Problem& problem, const PlanContext& context,
                            std::unique_ptr<const DirectPlan>* plan);

// Vectors of the widest block of columns.
inline constexpr int64_t kWidestBlock = 3;

// Rows of the packed filter that a pass over `vectors` vectors may read: what stays in cache.
int64_t PassRows(const DirectPlan& plan, int64_t vectors);

// Task grid, bands and scratch; direct_blocking.cc.
Status ChooseBlocking(const PlanContext& context, DirectPlan* plan);

}  // namespace dgrad::direct

#endif  // DGRAD_ALGORITHMS_DIRECT_DIRECT_PLAN_H_
