#include <dgrad/dgrad.h>

#include <string>

#include "src/api/checks.h"
#include "src/api/convert.h"
#include "src/api/error.h"
#include "src/api/handles.h"
#include "src/plan/plan.h"

int32_t dgrad_algorithm_count(void) {
  int32_t count = 0;
  const dgrad_status status = dgrad::Guard([&] {
    count = dgrad::AlgorithmCount();
    return dgrad::Status();
  });
  return status == DGRAD_OK ? count : 0;
}

const char* dgrad_algorithm_name(int32_t index) {
  const char* name = nullptr;
  const dgrad_status status = dgrad::Guard([&] {
    name = dgrad::AlgorithmName(index);
    return dgrad::Status();
  });
  return status == DGRAD_OK ? name : nullptr;
}

dgrad_status dgrad_algorithm_refusal(const dgrad_problem* problem,
                                     const dgrad_plan_options* options, const char* algorithm,
                                     char* buffer, uint64_t buffer_bytes, uint64_t* size) {
  return dgrad::Guard([&]() -> dgrad::Status {
    DGRAD_RETURN_IF_ERROR(dgrad::CheckHandle("problem", problem));
    dgrad::PlanOptions inner;
    DGRAD_RETURN_IF_ERROR(dgrad::ToPlanOptions(options, &inner));
    if (algorithm == nullptr) {
      return dgrad::InvalidArgument(
          "algorithm is null; legal are the names that dgrad_algorithm_name gives");
    }
    std::string reason;
    DGRAD_RETURN_IF_ERROR(dgrad::Refusal(problem->problem, inner, algorithm, &reason));
    return dgrad::WriteText(reason, buffer, buffer_bytes, size);
  });
}
