// Times the problems of a shape file: plans with a packed filter, and one-shot calls. Every result
// is checked against the direct algorithm in plain C++ before it is timed.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <dgrad/dgrad.hpp>
#include <fstream>
#include <string>
#include <vector>

namespace {

std::vector<float> Fill(size_t count, uint32_t seed) {
  std::vector<float> values(count);
  for (float& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(seed >> 8) * 0x1p-23f - 1.0f;
  }
  return values;
}

struct Layer {
  explicit Layer(const std::string& text)
      : problem(text),
        filter(Fill(problem.info().filter_bytes / sizeof(float), 1)),
        out_backprop(Fill(problem.info().out_backprop_bytes / sizeof(float), 2)),
        in_backprop(problem.info().in_backprop_bytes / sizeof(float)) {}

  dgrad::Problem problem;
  std::vector<float> filter, out_backprop, in_backprop;
};

void Check(Layer& layer) {
  const dgrad::Plan plain(layer.problem, {.isa = dgrad::Isa::kScalar, .algorithm = "direct"});
  std::vector<float> wanted(layer.in_backprop.size());
  plain.run(layer.filter, layer.out_backprop, wanted);
  dgrad::Plan(layer.problem).run(layer.filter, layer.out_backprop, layer.in_backprop);
  double error = 0, norm = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const double difference = static_cast<double>(layer.in_backprop[i]) - wanted[i];
    error += difference * difference;
    norm += static_cast<double>(wanted[i]) * wanted[i];
  }
  if (!(error <= norm * 1e-11)) {
    std::fprintf(stderr, "wrong result for %s\n", layer.problem.to_string().c_str());
    std::exit(1);
  }
}

void SetRate(benchmark::State& state, const Layer& layer) {
  state.counters["GFLOP/s"] = benchmark::Counter(2e-9 * layer.problem.info().multiply_adds,
                                                 benchmark::Counter::kIsIterationInvariantRate);
}

void RunPlan(benchmark::State& state, const std::string& text) {
  Layer layer(text);
  Check(layer);
  const dgrad::Plan plan(layer.problem, {.filter_packed = true});
  const dgrad::PackedFilter packed(plan, layer.filter);
  for (auto _ : state) plan.run(packed, layer.out_backprop, layer.in_backprop);
  SetRate(state, layer);
}

void RunOneShot(benchmark::State& state, const std::string& text) {
  Layer layer(text);
  Check(layer);
  const dgrad::Plan plan(layer.problem);
  for (auto _ : state) {
    plan.run(layer.filter, layer.out_backprop, layer.in_backprop);
  }
  SetRate(state, layer);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  std::ifstream file(argc > 1 ? argv[1] : DGRAD_SUITE);
  if (!file) {
    std::fprintf(stderr, "can't read %s\n", argv[1]);
    return 2;
  }
  for (std::string line; std::getline(file, line);) {
    const std::string text = line.substr(0, line.find_first_of(" #"));
    if (text.empty()) continue;
    benchmark::RegisterBenchmark(("plan/" + text).c_str(), [text](benchmark::State& state) {
      RunPlan(state, text);
    })->UseRealTime();
    benchmark::RegisterBenchmark(("unpacked/" + text).c_str(), [text](benchmark::State& state) {
      RunOneShot(state, text);
    })->UseRealTime();
  }
  benchmark::RunSpecifiedBenchmarks();
}
