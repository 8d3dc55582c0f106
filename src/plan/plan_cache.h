// Recent plans, so that the one-shot call plans a problem once.
#ifndef DGRAD_PLAN_PLAN_CACHE_H_
#define DGRAD_PLAN_PLAN_CACHE_H_

#include <memory>

#include "src/plan/plan.h"

namespace dgrad {

// What a plan depends on; every option is resolved (no zeros that stand for a default).
struct PlanKey {
  Problem problem;
  PlanOptions options;

  bool operator==(const PlanKey&) const = default;
};

std::shared_ptr<const Plan> FindPlan(const PlanKey& key);  // null if it is not there
void RememberPlan(const PlanKey& key, std::shared_ptr<const Plan> plan);
void ForgetPlans();

}  // namespace dgrad

#endif  // DGRAD_PLAN_PLAN_CACHE_H_
