// Medians, and intervals of their changes.
#ifndef DGRAD_CLI_STATISTICS_H_
#define DGRAD_CLI_STATISTICS_H_

#include <vector>

namespace dgrad::cli {

double Median(std::vector<double> values);  // not empty

struct Change {
  double ratio;      // b / a, of the geometric means
  double low, high;  // its 95 % interval
};

// a and b: one median of each pass, positive, two at least of each. Samples within a pass resemble
// each other more than those of different passes (memory lies elsewhere, the clock has moved), so
// only the spread between passes tells how sure a change is: Welch's t interval of the logarithms.
Change ChangeOf(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace dgrad::cli

#endif  // DGRAD_CLI_STATISTICS_H_
