// A plan, a filter that is packed once, a workspace and threads of the program's own: what a
// program does that runs the same layer again and again.
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <dgrad/dgrad.hpp>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

namespace {

// The simplest parallel_for there is: threads that take the next index until none is left.
void ParallelFor(int64_t count, const dgrad::Task& task) {
  std::atomic<int64_t> next{0};
  const auto work = [&] {
    for (int64_t i = next++; i < count; i = next++) task(i);
  };
  const std::jthread other(work);
  work();
}

std::vector<float> Numbers(uint64_t count, uint32_t seed) {
  std::vector<float> values(count);
  for (float& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(seed >> 8) * 0x1p-23f - 1.0f;
  }
  return values;
}

}  // namespace

int main() {
  try {
    const dgrad::Problem problem(std::string("n2_h28w28c32_k3x3_oc48_s2x2_psame"));
    const dgrad_problem_info& info = problem.info();
    const std::vector<float> filter = Numbers(info.filter_bytes / sizeof(float), 1);
    const std::vector<float> out_backprop = Numbers(info.out_backprop_bytes / sizeof(float), 2);
    std::vector<float> in_backprop(info.in_backprop_bytes / sizeof(float));

    const dgrad::Plan plan(problem, {.filter_packed = true});
    const dgrad::PackedFilter packed(plan, filter);
    std::cout << plan.explain() << '\n';

    // Nothing is allocated in here.
    std::vector<std::byte> workspace(plan.workspace_bytes());
    const dgrad::Executor threads(2, ParallelFor);
    plan.run(packed, out_backprop, in_backprop, {.workspace = workspace, .executor = &threads});

    // The library's own threads give the same bits.
    std::vector<float> again(in_backprop.size());
    plan.run(packed, out_backprop, again);
    if (again != in_backprop) {
      std::cerr << "two executors gave different results\n";
      return 1;
    }

    std::vector<float> expected(in_backprop.size());
    dgrad::reference(problem, filter, out_backprop, expected);
    double squares = 0, error_squares = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      squares += std::pow(double{expected[i]}, 2);
      error_squares += std::pow(double{in_backprop[i]} - double{expected[i]}, 2);
    }
    const double error = std::sqrt(error_squares / squares);
    std::cout << "relative L2 error against the definition: " << error << '\n';
    return error < 1e-6 ? 0 : 1;
  } catch (const dgrad::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
