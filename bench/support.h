// What the benchmark programs share: shape files, test data, CPU time.
#ifndef DGRAD_BENCH_SUPPORT_H_
#define DGRAD_BENCH_SUPPORT_H_

#include <cstdint>
#include <dgrad/dgrad.hpp>
#include <string>
#include <vector>

namespace dgrad::bench {

struct Line {
  std::string problem;
  std::string name;  // what follows " #", else the problem string
};

// The problems of shape files (docs/semantics.md); prints a message and exits when one can't be
// read. Lines of problems to refuse are left out.
std::vector<Line> ReadShapes(const std::vector<std::string>& files);

// Multiply-adds of NHWC problems without those of taps that land outside in_backprop.
double LandingMultiplyAdds(const Problem& problem);

// Uniform in [-1, 1), always the same for a seed.
std::vector<float> Fill(uint64_t bytes, uint32_t seed);

// Seconds of the processors that this process has used: other programs on the machine disturb it
// less than they disturb the clock on the wall.
double CpuSeconds();

// The tensors of one float32 problem.
struct Tensors {
  explicit Tensors(const Problem& problem)
      : filter(Fill(problem.info().filter_bytes, 1)),
        out_backprop(Fill(problem.info().out_backprop_bytes, 2)),
        in_backprop(problem.info().in_backprop_bytes / sizeof(float)) {}

  std::vector<float> filter, out_backprop, in_backprop;
};

// The smallest CPU time of a call in rounds of `seconds` in all, at least `least` calls; short
// calls are timed in groups.
template <typename Call>
double LeastSeconds(double seconds, int least, Call call) {
  constexpr double kGroup = 50e-6;  // many times what reading the clock takes
  call();
  double before = CpuSeconds();
  call();
  const double once = CpuSeconds() - before;
  const int group = once > kGroup ? 1 : static_cast<int>(kGroup / (once + 1e-7)) + 1;
  double best = 1e30;
  double used = 0;
  for (int i = 0; i < least || used < seconds; ++i) {
    before = CpuSeconds();
    for (int j = 0; j < group; ++j) call();
    const double taken = CpuSeconds() - before;
    used += taken;
    if (taken / group < best) best = taken / group;
    if (used > 20 * seconds) break;  // a slow call is not repeated for long
  }
  return best;
}

}  // namespace dgrad::bench

#endif  // DGRAD_BENCH_SUPPORT_H_
