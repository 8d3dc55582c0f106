// Plan: the immutable choice of how to compute one problem. Made once, run by many threads at once.
#ifndef DGRAD_PLAN_PLAN_H_
#define DGRAD_PLAN_PLAN_H_

#include <cstdint>
#include <memory>
#include <string>

#include "src/base/isa.h"
#include "src/base/status.h"
#include "src/problem/problem.h"
#include "src/threads/executor.h"

namespace dgrad {

enum class Accuracy : int32_t { kFast = 0, kStrict = 1 };

struct PlanOptions {
  int threads = 0;  // 0: NumThreads()
  Accuracy accuracy = Accuracy::kFast;
  Isa isa = Isa::kAuto;         // a cap
  bool filter_packed = false;   // packing is not part of the cost
  int64_t workspace_limit = 0;  // bytes; 0: the library's own bound
  std::string algorithm;        // empty: the best one

  bool operator==(const PlanOptions&) const = default;
};

class Plan {
 public:
  // Plans afresh, or takes the plan from the cache of recent ones (forced algorithms are cached
  // too).
  static Status Create(const Problem& problem, const PlanOptions& options,
                       std::shared_ptr<const Plan>* plan);

  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  const Problem& problem() const { return problem_; }
  const char* algorithm() const;
  Isa isa() const { return options_.isa; }
  int threads() const { return options_.threads; }
  // Scratch memory of a run. A run with a filter that is not packed takes packed_filter_bytes()
  // more from the library's pool.
  int64_t workspace_bytes() const;
  int64_t packed_filter_bytes() const;
  std::string Explain() const;
  // True when a filter packed for `other` serves this plan: same geometry, algorithm and isa.
  bool SharesPackedFilter(const Plan& other) const;

  // packed: packed_filter_bytes(), any alignment of 1 or more.
  Status PackFilter(const void* filter, void* packed, Executor& executor,
                    const Control& control) const;

  // Exactly one of filter and packed_filter. workspace: workspace_bytes() or null (pool).
  struct Run {
    const void* out_backprop = nullptr;
    const void* filter = nullptr;
    const void* packed_filter = nullptr;
    void* in_backprop = nullptr;
    void* workspace = nullptr;
  };
  Status Execute(const Run& run, Executor& executor, const Control& control) const;

 private:
  Plan() = default;

  struct Chosen;

  Problem problem_;
  PlanOptions options_;  // resolved
  std::unique_ptr<const Chosen> chosen_;
};

// The reason why the named algorithm can't serve the problem, empty if it can; an error for an
// unknown name (the message lists the names).
Status Refusal(const Problem& problem, const PlanOptions& options, const std::string& algorithm,
               std::string* reason);

// Names of all algorithms, in the order of preference; null outside the list.
const char* AlgorithmName(int index);
int AlgorithmCount();

// Empties the plan cache and the workspace pool.
void Trim();

}  // namespace dgrad

#endif  // DGRAD_PLAN_PLAN_H_
