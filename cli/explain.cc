// dgrad explain: how a problem will be computed, and why so.
#include <algorithm>
#include <map>
#include <memory>

#include "command.h"
#include "flags.h"
#include "shapes.h"
#include "stream.h"
#include "text.h"

namespace dgrad::cli {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  dgrad explain n8_h56w56c64_k3x3_oc128_s2x2\n"
    "  dgrad explain --isa avx2 --threads 1 shapes/suite.txt\n"
    "\n"
    "A phase is one of the unit-stride problems that a stride splits the result into: the rows (or "
    "columns) that are equal modulo the stride. Its taps are the filter's rows that meet it. The "
    "predicted cycles are those of one thread.";

constexpr size_t kMostPhases = 16;
constexpr size_t kMostTaps = 32;

struct Flags {
  std::vector<std::string> problems;
  bool packed = false;
  PlanFlags plan;
};

std::string ListOf(const std::vector<int64_t>& values, size_t most) {
  std::string text;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i == most) return text + Format(" ... (%zu)", values.size());
    text += " " + std::to_string(values[i]);
  }
  return text;
}

// "rows 1 modulo 2 meet the taps 0 2", for every phase that has taps.
void PrintPhases(const char* axis, int64_t taps, int64_t stride, int64_t dilation, int64_t pad) {
  // A filter may be huge; nobody reads that many taps.
  constexpr int64_t kMostLooked = 1 << 16;
  std::map<int64_t, std::vector<int64_t>> phases;
  // (tap * dilation - pad) modulo the stride, step by step: the product may overflow.
  const auto modulus = static_cast<uint64_t>(stride);
  const uint64_t step = static_cast<uint64_t>(dilation) % modulus;
  uint64_t phase = (modulus - static_cast<uint64_t>(pad) % modulus) % modulus;
  for (int64_t tap = 0; tap < std::min(taps, kMostLooked); ++tap) {
    phases[static_cast<int64_t>(phase)].push_back(tap);
    phase = (phase + step) % modulus;
  }
  size_t printed = 0;
  for (const auto& [remainder, list] : phases) {
    if (printed++ == kMostPhases) {
      Out().Write(Format("  ... %zu phases of %s with taps\n", phases.size(), axis));
      break;
    }
    Out().Write(Format("  %s %lld modulo %lld: taps%s\n", axis, static_cast<long long>(remainder),
                       static_cast<long long>(stride), ListOf(list, kMostTaps).c_str()));
  }
  const auto empty = stride - static_cast<int64_t>(phases.size());
  if (empty > 0 && taps <= kMostLooked) {
    Out().Write(Format("  %lld of %lld phases of %s have no taps: zeros\n",
                       static_cast<long long>(empty), static_cast<long long>(stride), axis));
  }
}

std::string ShapeOf(const std::array<int64_t, 4>& shape) {
  return Shape({shape.begin(), shape.end()});
}

void Explain(const ShapeLine& line, const PlanOptions& options) {
  const Problem problem(line.problem);
  const Plan plan(problem, options);
  const dgrad_problem_info& info = problem.info();
  if (!line.name.empty()) Out().Write("# " + line.name + "\n");
  Out().Write(plan.explain());
  Out().Write("out_backprop: " + ShapeOf(problem.out_backprop_shape()) + ", " +
              Bytes(info.out_backprop_bytes) + "\nfilter: " + ShapeOf(problem.filter_shape()) +
              ", " + Bytes(info.filter_bytes) + "\nin_backprop: " +
              ShapeOf(problem.in_backprop_shape()) + ", " + Bytes(info.in_backprop_bytes) + "\n");
  Out().Write("taps:\n");
  PrintPhases("rows", info.filter_shape[0], info.strides[0], info.dilations[0], info.paddings[0]);
  PrintPhases("columns", info.filter_shape[1], info.strides[1], info.dilations[1],
              info.paddings[2]);
}

int Run(const Flags& flags) {
  const std::vector<ShapeLine> lines = ReadShapes(flags.problems);
  PlanOptions options = flags.plan.Options();
  options.filter_packed = flags.packed;
  bool first = true;
  for (const ShapeLine& line : lines) {
    if (line.expected != DGRAD_OK) continue;
    if (!first) Out().Write("\n");
    first = false;
    Explain(line, options);
    Out().Flush();
  }
  return kOk;
}

}  // namespace

void AddExplain(CLI::App& app, Action* action) {
  CLI::App* command =
      app.add_subcommand("explain", "Tell how a problem is computed, and why not otherwise");
  const auto flags = std::make_shared<Flags>();
  command->footer(kFooter);
  AddProblems(*command, &flags->problems);
  command->add_flag("--packed", flags->packed, "For a filter that comes packed");
  flags->plan.Add(*command);
  command->callback([=] { *action = [flags] { return Run(*flags); }; });
}

}  // namespace dgrad::cli
