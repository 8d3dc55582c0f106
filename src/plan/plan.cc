#include "src/plan/plan.h"

#include <cstdio>
#include <utility>

#include "src/algorithms/algorithm.h"
#include "src/base/float_environment.h"
#include "src/kernels/isas.h"
#include "src/plan/plan_cache.h"
#include "src/plan/registry.h"
#include "src/plan/scratch_pool.h"
#include "src/problem/problem_string.h"

namespace dgrad {
namespace {

// Without a limit of the caller's, blocking aims below this and goes beyond only where nothing
// smaller works.
constexpr int64_t kUsualWorkspace = int64_t{32} << 20;
// Plans of many phases are large; what the cache holds stays below 128 MiB.
constexpr int64_t kMostRemembered = int64_t{1} << 20;

void* Align(void* pointer) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  return static_cast<std::byte*>(pointer) + (-address & kAlignmentSlack);
}
const void* Align(const void* pointer) { return Align(const_cast<void*>(pointer)); }

Isa BestCompiled(Isa cap) {
  for (const Isa isa : CompiledIsas()) {
    if (isa <= cap) return isa;
  }
  return CompiledIsas().back();
}

Status Resolve(const PlanOptions& given, PlanOptions* options) {
  *options = given;
  DGRAD_RETURN_IF_ERROR(ResolveIsa(given.isa, &options->isa));
  options->isa = BestCompiled(options->isa);
  if (options->threads == 0) options->threads = NumThreads();
  return {};
}

PlanContext MakeContext(const PlanOptions& options) {
  PlanContext context;
  context.isa = options.isa;
  context.threads = options.threads;
  context.strict = options.accuracy == Accuracy::kStrict;
  context.filter_packed = options.filter_packed;
  context.workspace_limit = options.workspace_limit > 0 ? options.workspace_limit : kUsualWorkspace;
  return context;
}

Status ChooseWithin(const Problem& problem, const PlanOptions& options, Choice* choice) {
  PlanContext context = MakeContext(options);
  Status status = Choose(problem, context, options.algorithm, choice);
  if (status.code() == Code::kOutOfMemory && options.workspace_limit == 0) {
    context.workspace_limit = INT64_MAX;
    status = Choose(problem, context, options.algorithm, choice);
  }
  return status;
}

}  // namespace

struct Plan::Chosen : Choice {};

Plan::~Plan() = default;

Status Plan::Create(const Problem& problem, const PlanOptions& given,
                    std::shared_ptr<const Plan>* result) {
  PlanKey key{problem, {}};
  DGRAD_RETURN_IF_ERROR(Resolve(given, &key.options));
  std::shared_ptr<const Plan> known = FindPlan(key);
  if (known == nullptr) {
    const FloatEnvironment environment;  // the caller's may trap
    std::shared_ptr<Plan> plan(new Plan());
    plan->problem_ = problem;
    plan->options_ = key.options;
    auto chosen = std::make_unique<Chosen>();
    DGRAD_RETURN_IF_ERROR(ChooseWithin(problem, key.options, chosen.get()));
    const int64_t footprint = chosen->plan->footprint_bytes;
    plan->chosen_ = std::move(chosen);
    known = std::move(plan);
    if (footprint <= kMostRemembered) RememberPlan(key, known);
  }
  *result = std::move(known);
  return {};
}

const char* Plan::algorithm() const { return chosen_->algorithm->name; }

int64_t Plan::workspace_bytes() const { return chosen_->plan->workspace_bytes; }

int64_t Plan::packed_filter_bytes() const {
  const int64_t bytes = chosen_->plan->packed_filter_bytes;
  return bytes == 0 ? 0 : bytes + kAlignmentSlack;
}

bool Plan::SharesPackedFilter(const Plan& other) const {
  return problem_ == other.problem_ && options_.isa == other.options_.isa &&
         chosen_->algorithm == other.chosen_->algorithm;
}

Status Plan::PackFilter(const void* filter, void* packed, Executor& executor,
                        const Control& control) const {
  return chosen_->plan->PrepareFilter(filter, Align(packed), executor, control);
}

Status Plan::Execute(const Run& run, Executor& executor, const Control& control) const {
  if (problem_.in_backprop_elements() == 0) return {};
  const void* packed = run.packed_filter == nullptr ? nullptr : Align(run.packed_filter);
  const bool unpacked = packed == nullptr && chosen_->plan->packs_in_run;
  Scratch packed_scratch;
  if (packed == nullptr && !unpacked && chosen_->plan->packed_filter_bytes > 0) {
    DGRAD_RETURN_IF_ERROR(packed_scratch.Borrow(chosen_->plan->packed_filter_bytes));
    DGRAD_RETURN_IF_ERROR(PackFilter(run.filter, packed_scratch.data(), executor, control));
    packed = packed_scratch.data();
  }
  void* workspace = run.workspace == nullptr ? nullptr : Align(run.workspace);
  Scratch scratch;
  if (workspace == nullptr && chosen_->plan->workspace_bytes > 0) {
    DGRAD_RETURN_IF_ERROR(scratch.Borrow(chosen_->plan->workspace_bytes));
    workspace = Align(scratch.data());
  }
  if (unpacked) {
    return chosen_->plan->RunUnpacked(run.out_backprop, run.filter, run.in_backprop, workspace,
                                      executor, control);
  }
  return chosen_->plan->Run(run.out_backprop, packed, run.in_backprop, workspace, executor,
                            control);
}

std::string Plan::Explain() const {
  std::string text = "problem: " + ToString(problem_) + "\nalgorithm: " + algorithm() +
                     "\ninstruction set: " + Name(isa()) +
                     "\nthreads: " + std::to_string(threads()) +
                     "\nworkspace: " + std::to_string(workspace_bytes()) +
                     " bytes\npacked filter: " + std::to_string(packed_filter_bytes()) + " bytes\n";
  char work[96];
  std::snprintf(work, sizeof(work), "work: %.4g million multiply-adds\n",
                problem_.multiply_adds() / 1e6);
  text += work;
  std::snprintf(work, sizeof(work), "predicted: %.3g million cycles of one thread\n",
                chosen_->plan->cycles / 1e6);
  text += work;
  text += chosen_->plan->Describe();
  for (const Candidate& candidate : chosen_->candidates) {
    if (candidate.reason.empty()) continue;
    text += std::string("not ") + candidate.algorithm->name + ": " + candidate.reason + "\n";
  }
  return text;
}

Status Refusal(const Problem& problem, const PlanOptions& given, const std::string& algorithm,
               std::string* reason) {
  PlanOptions options;
  DGRAD_RETURN_IF_ERROR(Resolve(given, &options));
  const Algorithm* found = nullptr;
  DGRAD_RETURN_IF_ERROR(FindAlgorithm(algorithm, &found));
  *reason = found->refuse(problem, MakeContext(options));
  return {};
}

int AlgorithmCount() { return static_cast<int>(Algorithms().size()); }

const char* AlgorithmName(int index) {
  return index >= 0 && index < AlgorithmCount() ? Algorithms()[static_cast<size_t>(index)]->name
                                                : nullptr;
}

void Trim() {
  ForgetPlans();
  TrimScratchPool();
}

}  // namespace dgrad
