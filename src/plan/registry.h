// The list of algorithms and the choice among them.
#ifndef DGRAD_PLAN_REGISTRY_H_
#define DGRAD_PLAN_REGISTRY_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/algorithms/algorithm.h"

namespace dgrad {

// In the order in which ties are broken; the last one serves every problem.
std::span<const Algorithm* const> Algorithms();

// InvalidArgument, with the legal names, for an unknown one.
Status FindAlgorithm(const std::string& name, const Algorithm** algorithm);

struct Candidate {
  const Algorithm* algorithm = nullptr;
  std::string reason;  // why it was not taken; empty for the choice
};

struct Choice {
  const Algorithm* algorithm = nullptr;
  std::unique_ptr<const AlgorithmPlan> plan;
  std::vector<Candidate> candidates;
};

// The cheapest algorithm by predicted cycles, or the forced one (`name` not empty).
Status Choose(const Problem& problem, const PlanContext& context, const std::string& name,
              Choice* choice);

}  // namespace dgrad

#endif  // DGRAD_PLAN_REGISTRY_H_
