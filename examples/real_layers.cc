// Runs transposed convolutions of published networks, on the activations they really meet, and
// compares with what the networks' own runtimes gave: real_layers FOLDER, which is tests/data/real.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <dgrad/dgrad.hpp>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "examples/npy.h"

namespace {

namespace fs = std::filesystem;

// Of the largest value of the layer: float32 sums of up to 1024 terms in any order, on both sides.
constexpr double kTolerance = 2e-6;
constexpr int kRuns = 20;

std::string ReadLine(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) throw std::runtime_error(path.string() + " can't be read");
  return line;
}

// What the network does after the transposed convolution: a bias per channel, an activation.
void Finish(const fs::path& layer, std::vector<float>* values) {
  if (fs::exists(layer / "bias.npy")) {
    const std::vector<float> bias = npy::Read<float>(layer / "bias.npy").values;
    for (size_t i = 0; i < values->size(); ++i) (*values)[i] += bias.at(i % bias.size());
  }
  if (fs::exists(layer / "activation.txt")) {
    const std::string activation = ReadLine(layer / "activation.txt");
    if (activation != "leaky_relu 0.1") {
      throw std::runtime_error("unknown activation " + activation);
    }
    for (float& value : *values) value = value > 0 ? value : 0.1f * value;
  }
}

void ExpectShape(const char* name, const std::vector<int64_t>& given,
                 const std::array<int64_t, 4>& legal) {
  if (!std::ranges::equal(given, legal)) {
    throw std::runtime_error(std::string(name) + " does not have the shape of problem.txt");
  }
}

// Returns whether the layer agrees with the stored answer.
bool RunLayer(const fs::path& layer) {
  const dgrad::Problem problem(ReadLine(layer / "problem.txt"));
  const npy::Array<float> filter = npy::Read<float>(layer / "filter.npy");
  const npy::Array<float> out_backprop = npy::Read<float>(layer / "out_backprop.npy");
  const npy::Array<float> answer = npy::Read<float>(layer / "in_backprop.npy");
  ExpectShape("filter", filter.shape, problem.filter_shape());
  ExpectShape("out_backprop", out_backprop.shape, problem.out_backprop_shape());
  ExpectShape("in_backprop", answer.shape, problem.in_backprop_shape());

  const dgrad::Plan plan(problem, {.filter_packed = true});
  const dgrad::PackedFilter packed(plan, filter.values);
  std::vector<float> result(answer.values.size());
  std::vector<double> microseconds;
  for (int i = 0; i < kRuns; ++i) {
    const auto start = std::chrono::steady_clock::now();
    plan.run(packed, out_backprop.values, result);
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
    microseconds.push_back(time.count());
  }
  std::ranges::nth_element(microseconds, microseconds.begin() + kRuns / 2);

  Finish(layer, &result);
  double largest = 0, error = 0;
  bool finite = true;
  for (size_t i = 0; i < result.size(); ++i) {
    finite = finite && std::isfinite(result[i]);
    largest = std::max(largest, std::abs(double{answer.values[i]}));
    error = std::max(error, std::abs(double{result[i]} - double{answer.values[i]}));
  }
  error /= largest;
  const bool good = finite && error <= kTolerance;
  std::printf("%-30s %-50s %-14s %9.1f us  error %.1e%s\n", layer.filename().c_str(),
              problem.to_string().c_str(), plan.algorithm().c_str(), microseconds[kRuns / 2], error,
              good ? "" : "  WRONG");
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: real_layers FOLDER\n");
    return 2;
  }
  try {
    std::vector<fs::path> layers;
    for (const fs::directory_entry& entry : fs::directory_iterator(argv[1])) {
      if (fs::exists(entry.path() / "problem.txt")) layers.push_back(entry.path());
    }
    std::ranges::sort(layers);
    if (layers.empty()) throw std::runtime_error(std::string(argv[1]) + " holds no layers");
    bool good = true;
    for (const fs::path& layer : layers) good = RunLayer(layer) && good;
    return good ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
