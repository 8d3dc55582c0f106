// Problems, plans and runs: what the one-shot function and the Plan class share.
#ifndef DGRAD_PYTHON_BINDINGS_RUN_H_
#define DGRAD_PYTHON_BINDINGS_RUN_H_

#include <dgrad/dgrad.h>

#include <memory>
#include <string>

#include "errors.h"
#include "tensor.h"

namespace dgrad_python {

struct Destroyer {
  void operator()(dgrad_problem* problem) const { dgrad_problem_destroy(problem); }
  void operator()(dgrad_plan* plan) const { dgrad_plan_destroy(plan); }
  void operator()(dgrad_packed_filter* filter) const { dgrad_packed_filter_destroy(filter); }
};
using ProblemHandle = std::unique_ptr<dgrad_problem, Destroyer>;
using PlanHandle = std::unique_ptr<dgrad_plan, Destroyer>;
using PackedFilterHandle = std::unique_ptr<dgrad_packed_filter, Destroyer>;

// All of these throw Failure with the library's text.
ProblemHandle CreateProblem(const dgrad_arguments& arguments);
dgrad_problem_info GetInfo(const dgrad_problem* problem);
PlanHandle CreatePlan(const dgrad_problem* problem, const dgrad_plan_options& options);

// Text of a function with the buffer rules of dgrad_problem_to_string:
// read(buffer, buffer_bytes, &size).
template <typename Read>
std::string ReadText(Read read) {
  uint64_t size = 0;
  CheckStatus(read(nullptr, 0, &size));
  std::string text(size, '\0');
  if (size > 0) {
    CheckStatus(read(text.data(), size, &size));
    text.resize(text.find('\0'));
  }
  return text;
}

// A checked run: `out` (or a new array where it is None) is checked against the problem and the
// inputs, strided inputs are copied, and the computation runs without the GIL. Exactly one of
// filter and packed is given. On the main thread signals are handled meanwhile, so Ctrl-C ends the
// run with KeyboardInterrupt. Returns the result.
nb::object Run(const dgrad_problem_info& problem, const dgrad_plan* plan, Tensor* filter,
               const dgrad_packed_filter* packed, Tensor* out_backprop, nb::handle out);

}  // namespace dgrad_python

#endif  // DGRAD_PYTHON_BINDINGS_RUN_H_
