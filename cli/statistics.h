// Medians, and intervals of them.
#ifndef DGRAD_CLI_STATISTICS_H_
#define DGRAD_CLI_STATISTICS_H_

#include <vector>

namespace dgrad::cli {

double Median(std::vector<double> values);  // not empty

struct Interval {
  double low, high;
};

// Where 95 % of median(b) / median(a) lie when both lists are drawn anew from themselves (the
// percentile bootstrap, with fixed random numbers). Lists are not empty.
Interval RatioOfMedians(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace dgrad::cli

#endif  // DGRAD_CLI_STATISTICS_H_
