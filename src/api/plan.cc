#include "src/plan/plan.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "src/api/checks.h"
#include "src/api/convert.h"
#include "src/api/error.h"
#include "src/api/handles.h"
#include "src/api/structs.h"
#include "src/base/text.h"

namespace dgrad {
namespace {

static_assert(static_cast<int32_t>(Accuracy::kFast) == DGRAD_FAST);
static_assert(static_cast<int32_t>(Accuracy::kStrict) == DGRAD_STRICT);
static_assert(static_cast<int32_t>(Isa::kAuto) == DGRAD_ISA_AUTO);
static_assert(static_cast<int32_t>(Isa::kScalar) == DGRAD_ISA_SCALAR);
static_assert(static_cast<int32_t>(Isa::kSse4) == DGRAD_ISA_SSE4);
static_assert(static_cast<int32_t>(Isa::kNeon) == DGRAD_ISA_NEON);
static_assert(static_cast<int32_t>(Isa::kAvx2) == DGRAD_ISA_AVX2);
static_assert(static_cast<int32_t>(Isa::kAvx512) == DGRAD_ISA_AVX512);

}  // namespace

Status CheckThreads(const char* name, int32_t threads) {
  if (threads < 0 || threads > kMaxThreads) {
    return InvalidArgument(
        Concat(name, " is ", threads, "; legal are 0 (the default number) to ", kMaxThreads));
  }
  return Status();
}

Status ToPlanOptions(const dgrad_plan_options* options, PlanOptions* out) {
  if (options == nullptr) {
    *out = PlanOptions();
    return Status();
  }
  dgrad_plan_options given;
  DGRAD_RETURN_IF_ERROR(ReadStruct("options", options, &given));
  DGRAD_RETURN_IF_ERROR(CheckThreads("options->threads", given.threads));
  if (given.accuracy != DGRAD_FAST && given.accuracy != DGRAD_STRICT) {
    return InvalidArgument(
        Concat("options->accuracy is ", given.accuracy, "; legal are 0 (fast) and 1 (strict)"));
  }
  if (given.isa < DGRAD_ISA_AUTO || given.isa > DGRAD_ISA_AVX512) {
    return InvalidArgument(
        Concat("options->isa is ", given.isa,
               "; legal are 0 (auto), 1 (scalar), 2 (sse4), 3 (neon), 4 (avx2) and "
               "5 (avx512)"));
  }
  if (given.algorithm != nullptr && *given.algorithm == '\0') {
    return InvalidArgument(
        "options->algorithm is an empty text; legal are null (the best one) and the names that "
        "dgrad_algorithm_name gives");
  }
  out->threads = given.threads;
  out->accuracy = static_cast<Accuracy>(given.accuracy);
  out->isa = static_cast<Isa>(given.isa);
  out->filter_packed = given.filter_packed != 0;
  out->workspace_limit = static_cast<int64_t>(
      std::min(given.workspace_limit, static_cast<uint64_t>(std::numeric_limits<int64_t>::max())));
  out->algorithm = given.algorithm != nullptr ? given.algorithm : "";
  return Status();
}

}  // namespace dgrad

dgrad_status dgrad_plan_create(const dgrad_problem* problem, const dgrad_plan_options* options,
                               dgrad_plan** plan) {
  return dgrad::Guard([&]() -> dgrad::Status {
    DGRAD_RETURN_IF_ERROR(dgrad::CheckHandle("problem", problem));
    DGRAD_RETURN_IF_ERROR(dgrad::CheckOutput("plan", plan));
    dgrad::PlanOptions inner;
    DGRAD_RETURN_IF_ERROR(dgrad::ToPlanOptions(options, &inner));
    auto handle = std::make_unique<dgrad_plan>();
    DGRAD_RETURN_IF_ERROR(dgrad::Plan::Create(problem->problem, inner, &handle->plan));
    *plan = handle.release();
    return dgrad::Status();
  });
}

dgrad_status dgrad_plan_get_info(const dgrad_plan* plan, dgrad_plan_info* info) {
  return dgrad::Guard([&]() -> dgrad::Status {
    DGRAD_RETURN_IF_ERROR(dgrad::CheckHandle("plan", plan));
    const dgrad::Plan& inner = *plan->plan;
    dgrad_plan_info filled = {};
    filled.workspace_bytes = static_cast<uint64_t>(inner.workspace_bytes());
    filled.packed_filter_bytes = static_cast<uint64_t>(inner.packed_filter_bytes());
    filled.algorithm = inner.algorithm();
    filled.isa = static_cast<dgrad_isa>(inner.isa());
    filled.threads = inner.threads();
    return dgrad::WriteStruct("info", filled, info);
  });
}

dgrad_status dgrad_plan_explain(const dgrad_plan* plan, char* buffer, uint64_t buffer_bytes,
                                uint64_t* size) {
  return dgrad::Guard([&]() -> dgrad::Status {
    DGRAD_RETURN_IF_ERROR(dgrad::CheckHandle("plan", plan));
    return dgrad::WriteText(plan->plan->Explain(), buffer, buffer_bytes, size);
  });
}

void dgrad_plan_destroy(dgrad_plan* plan) { dgrad::DestroyHandle("plan", plan); }
