// Runs one problem through one plan and compares it with the definition.
#ifndef DGRAD_TESTS_SUPPORT_CHECK_H_
#define DGRAD_TESTS_SUPPORT_CHECK_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/plan/plan.h"
#include "tests/support/tensors.h"

namespace dgrad::testing {

Problem Parse(const std::string& text);  // fails the test on an error

// Instruction sets this machine runs and the library has, best first.
std::vector<Isa> UsableIsas();

// The result of the plan for data of the seed, computed with a packed filter into poisoned memory
// with poisoned workspace; fails when guard bytes changed. A run with the filter unpacked must give
// the same bits.
Tensor RunPlan(const Plan& plan, uint64_t seed, Fill fill);

// What an algorithm's errors are measured by.
enum class Bound {
  // Exact (kIntegers, and int32 always), or |error| <= 8 * 2^-24 (2^-53) * S with the element's own
  // S = sum of |filter| |out_backprop|, and one rounding for half types.
  kSum,
  // Transforms mix the pixels of a tile: 24 times the largest S of the image's channel.
  kTile,
};
Bound BoundOf(const std::string& algorithm);

::testing::AssertionResult MatchesReference(const Problem& problem, uint64_t seed, Fill fill,
                                            Bound bound, const Tensor& result);

// Forces `algorithm` on the problem, on every instruction set, with 1 and 3 threads, and checks
// values; results must have the same bits for both thread counts. Accuracy is strict where the
// algorithm allows it.
void CheckEverywhere(const std::string& problem, const std::string& algorithm, Fill fill);

}  // namespace dgrad::testing

#endif  // DGRAD_TESTS_SUPPORT_CHECK_H_
