#include "statistics.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace dgrad::cli {
namespace {

struct Moments {
  double mean, variance_of_mean, freedom;
};

Moments LogMoments(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  const double mean = sum / n;
  double squares = 0;
  for (const double value : values) squares += (std::log(value) - mean) * (std::log(value) - mean);
  return {mean, squares / (n - 1) / n, n - 1};
}

// The 97.5 % quantile of Student's t; rounded down to a degree of freedom of the table, which errs
// towards wide intervals.
double StudentQuantile(double freedom) {
  constexpr double kTable[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
                               2.306,  2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
                               2.131,  2.120, 2.110, 2.101, 2.093, 2.086};
  const double most = static_cast<double>(std::size(kTable));
  return kTable[static_cast<size_t>(std::clamp(std::floor(freedom), 1.0, most)) - 1];
}

}  // namespace

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

Change ChangeOf(const std::vector<double>& a, const std::vector<double>& b) {
  const Moments of_a = LogMoments(a);
  const Moments of_b = LogMoments(b);
  const double variance = of_a.variance_of_mean + of_b.variance_of_mean;
  const double squares = of_a.variance_of_mean * of_a.variance_of_mean / of_a.freedom +
                         of_b.variance_of_mean * of_b.variance_of_mean / of_b.freedom;
  const double freedom = squares > 0 ? variance * variance / squares : 1;
  const double change = of_b.mean - of_a.mean;
  const double half = StudentQuantile(freedom) * std::sqrt(variance);
  return {std::exp(change), std::exp(change - half), std::exp(change + half)};
}

}  // namespace dgrad::cli
