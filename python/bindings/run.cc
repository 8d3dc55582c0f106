#include "run.h"

#include "gil.h"

namespace dgrad_python {

namespace {

// Done within about a millisecond by the slowest kernels. Such a run keeps the GIL: other threads
// would hardly use it, and with them busy it may take the switch interval (5 ms) to come back.
bool IsBrief(const dgrad_problem_info& problem) {
  constexpr uint64_t kBytes = 1 << 20;
  return problem.multiply_adds <= 1e6 && problem.in_backprop_bytes <= kBytes &&
         problem.out_backprop_bytes <= kBytes && problem.filter_bytes <= kBytes;
}

}  // namespace

ProblemHandle CreateProblem(const dgrad_arguments& arguments) {
  dgrad_problem* problem = nullptr;
  CheckStatus(dgrad_problem_create(&arguments, &problem));
  return ProblemHandle(problem);
}

dgrad_problem_info GetInfo(const dgrad_problem* problem) {
  dgrad_problem_info info = {};
  info.struct_size = sizeof(info);
  CheckStatus(dgrad_problem_get_info(problem, &info));
  return info;
}

PlanHandle CreatePlan(const dgrad_problem* problem, const dgrad_plan_options& options) {
  dgrad_plan* plan = nullptr;
  CheckStatus(dgrad_plan_create(problem, &options, &plan));
  return PlanHandle(plan);
}

nb::object Run(const dgrad_problem_info& problem, const dgrad_plan* plan, Tensor* filter,
               const dgrad_packed_filter* packed, Tensor* out_backprop, nb::handle out) {
  if (!out.is_none()) {  // before Contiguous: the caller's arrays are compared, not our copies
    CheckOut(out, problem.dtype, problem.in_backprop_shape, out_backprop, 1);
    if (filter != nullptr) CheckOut(out, problem.dtype, problem.in_backprop_shape, filter, 1);
  }
  dgrad_run_arguments run = {};
  run.struct_size = sizeof(run);
  run.out_backprop = Contiguous(out_backprop);
  run.out_backprop_bytes = SizeInBytes(*out_backprop);
  if (filter != nullptr) {
    run.filter = Contiguous(filter);
    run.filter_bytes = SizeInBytes(*filter);
  }
  run.packed_filter = packed;
  nb::object result =
      out.is_none() ? NewArray(problem.dtype, problem.in_backprop_shape) : nb::borrow(out);
  run.in_backprop = MutableData(result);
  run.in_backprop_bytes = problem.in_backprop_bytes;

  dgrad_status status = DGRAD_OK;
  if (IsBrief(problem)) {
    status = dgrad_run(plan, &run);
  } else {
    WithoutGil without_gil;
    run.poll = &WithoutGil::Poll;
    run.poll_user = &without_gil;
    status = dgrad_run(plan, &run);
  }
  if (PyErr_Occurred()) throw nb::python_error();
  CheckStatus(status);
  return result;
}

}  // namespace dgrad_python
