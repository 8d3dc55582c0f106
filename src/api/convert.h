// Structs of the C interface -> the library's own. Each reads a caller's struct whole, checks what
// the inner layers can't see, and names the argument when it complains.
#ifndef DGRAD_API_CONVERT_H_
#define DGRAD_API_CONVERT_H_

#include <dgrad/dgrad.h>

#include "src/base/status.h"
#include "src/plan/plan.h"
#include "src/problem/problem.h"

namespace dgrad {

// The bound of every threads argument: far above any machine, low enough for fixed tables.

Status CheckThreads(const char* name, int32_t threads);

// problem.cc
Status ToProblem(const dgrad_arguments* arguments, Problem* problem);

// plan.cc; null gives the defaults.
Status ToPlanOptions(const dgrad_plan_options* options, PlanOptions* out);

}  // namespace dgrad

#endif  // DGRAD_API_CONVERT_H_
