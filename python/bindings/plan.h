// The Plan and PackedFilter classes below dgrad.Plan and dgrad.PackedFilter.
#ifndef DGRAD_PYTHON_BINDINGS_PLAN_H_
#define DGRAD_PYTHON_BINDINGS_PLAN_H_

#include <nanobind/nanobind.h>

namespace dgrad_python {

void BindPlan(nanobind::module_& module);

}  // namespace dgrad_python

#endif  // DGRAD_PYTHON_BINDINGS_PLAN_H_
