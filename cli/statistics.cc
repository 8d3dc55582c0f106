#include "statistics.h"

#include <algorithm>
#include <cstdint>

namespace dgrad::cli {
namespace {

constexpr int kDraws = 2000;

// The median of as many values as there are, each drawn from all of them.
double DrawnMedian(const std::vector<double>& values, uint32_t* random) {
  std::vector<double> drawn(values.size());
  for (double& value : drawn) {
    *random = *random * 1664525u + 1013904223u;
    value = values[static_cast<size_t>(uint64_t{*random} * values.size() >> 32)];
  }
  return Median(std::move(drawn));
}

}  // namespace

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

Interval RatioOfMedians(const std::vector<double>& a, const std::vector<double>& b) {
  uint32_t random = 1;
  std::vector<double> ratios(kDraws);
  for (double& ratio : ratios) {
    const double of_a = DrawnMedian(a, &random);
    ratio = DrawnMedian(b, &random) / of_a;
  }
  std::sort(ratios.begin(), ratios.end());
  return {ratios[kDraws * 25 / 1000], ratios[kDraws * 975 / 1000 - 1]};
}

}  // namespace dgrad::cli
