#include "src/plan/registry.h"

#include <cstdio>

namespace dgrad {
namespace {

constexpr const Algorithm* kAlgorithms[] = {&kWinograd, &kTaps, &kPixels, &kSmallGroups,
                                            &kGrouped,  &kDot,  &kDirect};

std::string Megacycles(double cycles) {
  char text[64];
  std::snprintf(text, sizeof(text), "predicted %.3g million cycles", cycles / 1e6);
  return text;
}

}  // namespace

std::span<const Algorithm* const> Algorithms() { return kAlgorithms; }

Status FindAlgorithm(const std::string& name, const Algorithm** algorithm) {
  std::string names;
  for (const Algorithm* candidate : kAlgorithms) {
    if (name == candidate->name) {
      *algorithm = candidate;
      return {};
    }
    names += names.empty() ? "" : ", ";
    names += candidate->name;
  }
  return InvalidArgument("algorithm is '" + name + "'; the algorithms are " + names);
}

Status Choose(const Problem& problem, const PlanContext& context, const std::string& name,
              Choice* choice) {
  *choice = {};
  if (!name.empty()) {
    const Algorithm* algorithm = nullptr;
    DGRAD_RETURN_IF_ERROR(FindAlgorithm(name, &algorithm));
    const std::string reason = algorithm->refuse(problem, context);
    if (!reason.empty()) {
      return InvalidArgument("algorithm '" + name + "' can't serve this problem: " + reason);
    }
    DGRAD_RETURN_IF_ERROR(algorithm->plan(problem, context, &choice->plan));
    choice->algorithm = algorithm;
    choice->candidates.push_back({algorithm, ""});
    return {};
  }
  Status failure;
  size_t chosen = 0;
  for (const Algorithm* algorithm : kAlgorithms) {
    Candidate candidate = {algorithm, algorithm->refuse(problem, context)};
    if (candidate.reason.empty()) {
      std::unique_ptr<const AlgorithmPlan> plan;
      const Status status = algorithm->plan(problem, context, &plan);
      if (!status.ok()) {
        failure = status;
        candidate.reason = status.message();
      } else if (choice->plan != nullptr && choice->plan->cycles <= plan->cycles) {
        candidate.reason = Megacycles(plan->cycles);
      } else {
        if (choice->plan != nullptr) {
          choice->candidates[chosen].reason = Megacycles(choice->plan->cycles);
        }
        chosen = choice->candidates.size();
        choice->plan = std::move(plan);
        choice->algorithm = algorithm;
      }
    }
    choice->candidates.push_back(std::move(candidate));
  }
  if (choice->plan == nullptr) {
    return failure.ok() ? Internal("no algorithm serves the problem") : failure;
  }
  return {};
}

}  // namespace dgrad
