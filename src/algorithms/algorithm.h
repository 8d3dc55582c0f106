// The skeleton of every algorithm: four functions, always in the order refuse - plan -
// prepare_filter - run. The last two are methods of the plan that the second one makes.
#ifndef DGRAD_ALGORITHMS_ALGORITHM_H_
#define DGRAD_ALGORITHMS_ALGORITHM_H_

#include <cstdint>
#include <memory>
#include <string>

#include "src/base/isa.h"
#include "src/base/status.h"
#include "src/problem/problem.h"
#include "src/threads/executor.h"

namespace dgrad {

// Buffers may begin anywhere and are aligned inside: what a 64-byte boundary may cost.
inline constexpr int64_t kAlignmentSlack = 63;

// What a choice may look at. `threads` shapes tasks and scratch memory, never values.
struct PlanContext {
  Isa isa = Isa::kScalar;  // resolved
  int threads = 1;
  bool strict = false;          // direct summation only
  bool filter_packed = false;   // packing is not part of the cost
  int64_t workspace_limit = 0;  // bytes, the packed filter of one-shot calls not counted; > 0
};

// One algorithm's immutable choice for one problem with a result that is not empty.
struct AlgorithmPlan {
  virtual ~AlgorithmPlan() = default;

  int64_t workspace_bytes = 0;      // scratch of run, kAlignmentSlack included unless 0
  int64_t packed_filter_bytes = 0;  // 64-byte aligned when handed over
  int64_t footprint_bytes = 0;      // of the plan itself, beside its fixed fields
  double cycles = 0;                // predicted, of one thread, packing included unless told
  bool packs_in_run = false;        // one-shot calls go to RunUnpacked

  // Lines for people: blocking and sizes.
  virtual std::string Describe() const = 0;
  virtual Status PrepareFilter(const void* filter, void* packed, Executor& executor,
                               const Control& control) const = 0;
  // Writes every element of in_backprop.
  virtual Status Run(const void* out_backprop, const void* packed, void* in_backprop,
                     void* workspace, Executor& executor, const Control& control) const = 0;
  // Run with the filter itself, of which each task packs what it needs. Only if packs_in_run.
  virtual Status RunUnpacked(const void* /*out_backprop*/, const void* /*filter*/,
                             void* /*in_backprop*/, void* /*workspace*/, Executor& /*executor*/,
                             const Control& /*control*/) const {
    return Internal("the algorithm takes packed filters only");
  }
};

struct Algorithm {
  const char* name;
  // Why it can't serve the problem; empty when it can.
  std::string (*refuse)(const Problem& problem, const PlanContext& context);
  // Only for problems that it does not refuse.
  Status (*plan)(const Problem& problem, const PlanContext& context,
                 std::unique_ptr<const AlgorithmPlan>* plan);
};

// Of direct/: the same loops, with other lanes.
extern const Algorithm kDirect;   // any problem
extern const Algorithm kGrouped;  // more than one group, depthwise included
extern const Algorithm kDot;      // bfloat16 on processors that multiply pairs of it fast
// Of winograd/: fewer multiplications, rounded otherwise.
extern const Algorithm kWinograd;  // one group, 2 to 24 taps a phase along an axis
// Of small_groups/: vectors of neighbouring channels of several groups.
extern const Algorithm kSmallGroups;  // depthwise, and groups of 2, 4, 8 or 16 channels
// Of pixels/: vectors of pixels.
extern const Algorithm kPixels;  // one group, few result channels
// Of taps/: all taps as the columns of one product.
extern const Algorithm kTaps;  // one group, few result channels, columns not dilated

}  // namespace dgrad

#endif  // DGRAD_ALGORITHMS_ALGORITHM_H_
