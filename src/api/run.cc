#include "src/api/run.h"

#include <dgrad/dgrad.h>

#include <cstdint>
#include <memory>
#include <string>

#include "src/api/caller_executor.h"
#include "src/api/checks.h"
#include "src/api/convert.h"
#include "src/api/error.h"
#include "src/api/handles.h"
#include "src/api/structs.h"
#include "src/base/text.h"
#include "src/problem/problem_string.h"
#include "src/reference/reference.h"

namespace dgrad {
namespace {

std::string Describe(const Plan& plan) {
  return Concat(ToString(plan.problem()), " (", plan.algorithm(), ", ", Name(plan.isa()), ")");
}

// Exactly one of filter and packed_filter; fills the region that the run reads.
Status CheckFilter(const Plan& plan, const dgrad_run_arguments& run, Plan::Run* out,
                   Region* region) {
  const Problem& problem = plan.problem();
  if (run.packed_filter == nullptr) {
    if (run.filter == nullptr && run.filter_bytes == 0 && problem.filter_bytes() > 0) {
      return InvalidArgument("filter and packed_filter are both null; exactly one is needed");
    }
    DGRAD_RETURN_IF_ERROR(
        CheckTensor("filter", run.filter, run.filter_bytes, problem.filter_bytes(), problem.dtype));
    *region = {"filter", run.filter, problem.filter_bytes()};
    out->filter = OrPlaceholder(run.filter);
    return Status();
  }
  if (run.filter != nullptr) {
    return InvalidArgument("filter and packed_filter are both given; exactly one is legal");
  }
  if (run.filter_bytes != 0) {
    return InvalidArgument(Concat("filter_bytes is ", run.filter_bytes,
                                  ", but filter is null; it must be 0 with a packed_filter"));
  }
  DGRAD_RETURN_IF_ERROR(CheckHandle("packed_filter", run.packed_filter));
  const Plan& packed_for = *run.packed_filter->plan;
  if (!plan.SharesPackedFilter(packed_for)) {
    return InvalidArgument(Concat("packed_filter was packed for ", Describe(packed_for),
                                  ", but the plan is ", Describe(plan),
                                  "; geometry, algorithm and instruction set must be the same"));
  }
  *region = {"packed_filter's storage", run.packed_filter->data, packed_for.packed_filter_bytes()};
  out->packed_filter = OrPlaceholder(run.packed_filter->data);
  return Status();
}

Status CheckRun(const Plan& plan, const dgrad_run_arguments& run, Plan::Run* out) {
  const Problem& problem = plan.problem();
  DGRAD_RETURN_IF_ERROR(CheckTensor("out_backprop", run.out_backprop, run.out_backprop_bytes,
                                    problem.out_backprop_bytes(), problem.dtype));
  Region filter = {};
  DGRAD_RETURN_IF_ERROR(CheckFilter(plan, run, out, &filter));
  DGRAD_RETURN_IF_ERROR(CheckTensor("in_backprop", run.in_backprop, run.in_backprop_bytes,
                                    problem.in_backprop_bytes(), problem.dtype));
  const bool own_workspace = run.workspace == nullptr && run.workspace_bytes == 0;
  if (!own_workspace) {
    DGRAD_RETURN_IF_ERROR(
        CheckLength("workspace", run.workspace, run.workspace_bytes, plan.workspace_bytes()));
  }
  if (reinterpret_cast<uintptr_t>(run.cancel) % alignof(int32_t) != 0) {
    return InvalidArgument("cancel is not aligned for a 32-bit integer");
  }

  const Region out_backprop = {"out_backprop", run.out_backprop, problem.out_backprop_bytes()};
  const Region in_backprop = {"in_backprop", run.in_backprop, problem.in_backprop_bytes()};
  const Region workspace = {"workspace", run.workspace, own_workspace ? 0 : plan.workspace_bytes()};
  DGRAD_RETURN_IF_ERROR(CheckDisjoint(in_backprop, out_backprop));
  DGRAD_RETURN_IF_ERROR(CheckDisjoint(in_backprop, filter));
  DGRAD_RETURN_IF_ERROR(CheckDisjoint(in_backprop, workspace));
  DGRAD_RETURN_IF_ERROR(CheckDisjoint(workspace, out_backprop));
  DGRAD_RETURN_IF_ERROR(CheckDisjoint(workspace, filter));

  out->out_backprop = OrPlaceholder(run.out_backprop);
  out->in_backprop = OrPlaceholder(run.in_backprop);
  out->workspace = run.workspace;
  return Status();
}

Status RunPlan(const Plan& plan, const dgrad_run_arguments& run) {
  Plan::Run inner;
  DGRAD_RETURN_IF_ERROR(CheckRun(plan, run, &inner));
  CallerPoll poll(run);
  if (run.executor == nullptr) {
    return poll.Finish(plan.Execute(inner, OwnExecutor(plan), poll.control()));
  }
  CallerExecutor executor;
  DGRAD_RETURN_IF_ERROR(executor.Init(run.executor));
  return poll.Finish(plan.Execute(inner, executor, poll.control()));
}

}  // namespace
}  // namespace dgrad

dgrad_status dgrad_run(const dgrad_plan* plan, const dgrad_run_arguments* run) {
  return dgrad::Guard([&]() -> dgrad::Status {
    DGRAD_RETURN_IF_ERROR(dgrad::CheckHandle("plan", plan));
    dgrad_run_arguments given;
    DGRAD_RETURN_IF_ERROR(dgrad::ReadStruct("run", run, &given));
    return dgrad::RunPlan(*plan->plan, given);
  });
}

dgrad_status dgrad_conv2d_backprop_input(const dgrad_arguments* arguments,
                                         const dgrad_plan_options* options,
                                         const dgrad_run_arguments* run) {
  return dgrad::Guard([&]() -> dgrad::Status {
    dgrad::Problem problem;
    DGRAD_RETURN_IF_ERROR(dgrad::ToProblem(arguments, &problem));
    dgrad::PlanOptions inner;
    DGRAD_RETURN_IF_ERROR(dgrad::ToPlanOptions(options, &inner));
    dgrad_run_arguments given;
    DGRAD_RETURN_IF_ERROR(dgrad::ReadStruct("run", run, &given));
    std::shared_ptr<const dgrad::Plan> plan;
    DGRAD_RETURN_IF_ERROR(dgrad::Plan::Create(problem, inner, &plan));
    return dgrad::RunPlan(*plan, given);
  });
}

dgrad_status dgrad_reference(const dgrad_problem* problem, const void* filter,
                             uint64_t filter_bytes, const void* out_backprop,
                             uint64_t out_backprop_bytes, void* in_backprop,
                             uint64_t in_backprop_bytes) {
  return dgrad::Guard([&]() -> dgrad::Status {
    DGRAD_RETURN_IF_ERROR(dgrad::CheckHandle("problem", problem));
    const dgrad::Problem& inner = problem->problem;
    const dgrad::Region filter_region = {"filter", filter, inner.filter_bytes()};
    const dgrad::Region out_region = {"out_backprop", out_backprop, inner.out_backprop_bytes()};
    const dgrad::Region in_region = {"in_backprop", in_backprop, inner.in_backprop_bytes()};
    DGRAD_RETURN_IF_ERROR(
        dgrad::CheckTensor("filter", filter, filter_bytes, filter_region.bytes, inner.dtype));
    DGRAD_RETURN_IF_ERROR(dgrad::CheckTensor("out_backprop", out_backprop, out_backprop_bytes,
                                             out_region.bytes, inner.dtype));
    DGRAD_RETURN_IF_ERROR(dgrad::CheckTensor("in_backprop", in_backprop, in_backprop_bytes,
                                             in_region.bytes, inner.dtype));
    DGRAD_RETURN_IF_ERROR(dgrad::CheckDisjoint(in_region, filter_region));
    DGRAD_RETURN_IF_ERROR(dgrad::CheckDisjoint(in_region, out_region));
    dgrad::Reference(inner, dgrad::OrPlaceholder(filter), dgrad::OrPlaceholder(out_backprop),
                     dgrad::OrPlaceholder(in_backprop));
    return dgrad::Status();
  });
}
