// What an inference engine does with dgrad: a decoder of three transposed convolutions (4x4,
// stride 2, as in the decoders of autoencoders and GANs) that turns a small map of 256 channels
// into a picture eight times as high and as wide.
//
//   once       a plan and a packed filter per layer, one workspace, two buffers for activations
//   per image  each layer reads one buffer and writes the other, on the engine's own threads;
//              nothing is allocated
//
// In dgrad's words a layer's input is out_backprop, its output in_backprop.
//
//   decoder [SIZE [THREADS [RUNS]]]    rows and columns of the small map; 16, 2 and 5 if not given
#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dgrad/dgrad.hpp>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::array<int64_t, 4> kChannels = {256, 128, 64, 3};  // of the input, then per layer
constexpr size_t kLayers = kChannels.size() - 1;

// The engine's threads. Between two loops the others wait for the next one.
class Team {
 public:
  explicit Team(int32_t threads) : start_(threads), end_(threads) {
    for (int32_t i = 1; i < threads; ++i) {
      others_.emplace_back([this] {
        for (;;) {
          start_.arrive_and_wait();
          if (task_ == nullptr) return;
          Work();
          end_.arrive_and_wait();
        }
      });
    }
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team() {
    task_ = nullptr;
    start_.arrive_and_wait();
  }

  // Calls task(i) for every i in [0, count) and returns when all have returned.
  void ParallelFor(int64_t count, const dgrad::Task& task) {
    task_ = &task;
    count_ = count;
    next_ = 0;
    start_.arrive_and_wait();
    Work();
    end_.arrive_and_wait();
  }

 private:
  void Work() {
    for (int64_t i = next_++; i < count_; i = next_++) (*task_)(i);
  }

  std::barrier<> start_, end_;
  const dgrad::Task* task_ = nullptr;  // null at start_: the end
  int64_t count_ = 0;
  std::atomic<int64_t> next_{0};
  std::vector<std::jthread> others_;  // last: joined before the rest goes
};

std::vector<float> Numbers(uint64_t count, uint32_t seed, float scale) {
  std::vector<float> values(count);
  for (float& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = (static_cast<float>(seed >> 8) * 0x1p-23f - 1.0f) * scale;
  }
  return values;
}

void Relu(std::span<float> values) {
  for (float& value : values) value = std::max(value, 0.0f);
}

struct Layer {
  Layer(int64_t size, size_t index)
      : problem(dgrad::Arguments{
            .input_sizes = {1, 2 * size, 2 * size, kChannels[index + 1]},
            .filter_shape = {4, 4, kChannels[index + 1], kChannels[index]},
            .strides = {1, 2, 2, 1},
            .padding = dgrad::Padding::kSame,
        }),
        // Of that size the values neither grow nor vanish from layer to layer.
        filter(Numbers(problem.info().filter_bytes / sizeof(float), static_cast<uint32_t>(index),
                       1 / std::sqrt(static_cast<float>(kChannels[index])))),
        plan(problem, {.filter_packed = true}),
        packed(plan, filter) {}

  uint64_t in_elements() const { return problem.info().out_backprop_bytes / sizeof(float); }
  uint64_t out_elements() const { return problem.info().in_backprop_bytes / sizeof(float); }

  dgrad::Problem problem;
  std::vector<float> filter;  // kept for the comparison with the definition alone
  dgrad::Plan plan;
  dgrad::PackedFilter packed;
};

class Decoder {
 public:
  // size: rows and columns of the input. The team must outlive the decoder.
  Decoder(int64_t size, int32_t threads, Team* team)
      : executor_(threads, [team](int64_t count, const dgrad::Task& task) {
          team->ParallelFor(count, task);
        }) {
    uint64_t largest_workspace = 0, largest_activation = 0;
    for (size_t i = 0; i < kLayers; ++i) {
      const Layer& layer = layers_.emplace_back(size << i, i);
      largest_workspace = std::max(largest_workspace, layer.plan.workspace_bytes());
      largest_activation =
          std::max({largest_activation, layer.in_elements(), layer.out_elements()});
    }
    workspace_.resize(largest_workspace);
    for (std::vector<float>& activation : activations_) activation.resize(largest_activation);
  }

  const std::vector<Layer>& layers() const { return layers_; }
  size_t workspace_bytes() const { return workspace_.size(); }

  // Returns the picture, which lies in the decoder until the next call. Adds each layer's time.
  std::span<const float> Run(std::span<const float> input, std::array<double, kLayers>* seconds) {
    std::ranges::copy(input, activations_[0].begin());
    for (size_t i = 0; i < kLayers; ++i) {
      const Layer& layer = layers_[i];
      const std::span<const float> from(activations_[i % 2].data(), layer.in_elements());
      const std::span<float> to(activations_[1 - i % 2].data(), layer.out_elements());
      const auto start = std::chrono::steady_clock::now();
      layer.plan.run(layer.packed, from, to, {.workspace = workspace_, .executor = &executor_});
      if (i + 1 < kLayers) Relu(to);
      (*seconds)[i] +=
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    return std::span<const float>(activations_[kLayers % 2]).first(layers_.back().out_elements());
  }

 private:
  std::vector<Layer> layers_;
  std::vector<std::byte> workspace_;
  std::array<std::vector<float>, 2> activations_;
  dgrad::Executor executor_;
};

// Relative L2 error of the decoder against the definition.
double Error(int64_t size, int32_t threads, Team* team) {
  Decoder decoder(size, threads, team);
  std::vector<float> expected = Numbers(decoder.layers()[0].in_elements(), 7, 1);
  std::array<double, kLayers> seconds = {};
  const std::span<const float> picture = decoder.Run(expected, &seconds);
  for (const Layer& layer : decoder.layers()) {
    std::vector<float> next(layer.out_elements());
    dgrad::reference(layer.problem, layer.filter, expected, next);
    if (&layer != &decoder.layers().back()) Relu(next);
    expected = std::move(next);
  }
  double squares = 0, error_squares = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    squares += std::pow(double{expected[i]}, 2);
    error_squares += std::pow(double{expected[i]} - double{picture[i]}, 2);
  }
  return std::sqrt(error_squares / squares);
}

void Time(int64_t size, int32_t threads, int64_t runs, Team* team) {
  Decoder decoder(size, threads, team);
  const std::vector<float> input = Numbers(decoder.layers()[0].in_elements(), 7, 1);
  std::array<double, kLayers> seconds = {};
  decoder.Run(input, &seconds);  // warms the caches
  seconds = {};
  for (int64_t i = 0; i < runs; ++i) decoder.Run(input, &seconds);
  double total = 0;
  for (size_t i = 0; i < kLayers; ++i) {
    const Layer& layer = decoder.layers()[i];
    const double mean = seconds[i] / static_cast<double>(runs);
    total += mean;
    std::printf("%-44s %-12s %8.3f ms %8.1f Gflop/s\n", layer.problem.to_string().c_str(),
                layer.plan.algorithm().c_str(), mean * 1e3,
                2e-9 * layer.problem.info().multiply_adds / mean);
  }
  std::printf("together %.3f ms on %d threads; workspace %zu bytes\n", total * 1e3, threads,
              decoder.workspace_bytes());
}

// Argument `index` of the command line, or `otherwise` if it is not there.
int64_t Argument(int argc, char** argv, int index, int64_t otherwise, int64_t most) {
  if (index >= argc) return otherwise;
  char* end = nullptr;
  const int64_t value = std::strtoll(argv[index], &end, 10);
  if (end == argv[index] || *end != '\0' || value < 1 || value > most) {
    throw std::runtime_error("argument " + std::to_string(index) + " is " + argv[index] +
                             "; it must be an integer from 1 to " + std::to_string(most));
  }
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc > 4) throw std::runtime_error("usage: decoder [SIZE [THREADS [RUNS]]]");
    const int64_t size = Argument(argc, argv, 1, 16, 512);
    const auto threads = static_cast<int32_t>(Argument(argc, argv, 2, 2, 256));
    const int64_t runs = Argument(argc, argv, 3, 5, 1000000);
    Team team(threads);
    Time(size, threads, runs, &team);
    const double error = Error(3, threads, &team);
    std::printf("relative L2 error against the definition, for a 3x3 map: %.1e\n", error);
    return error < 1e-6 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
