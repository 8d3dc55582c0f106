// bench_choice [--one-shot] [--seconds S] [SHAPE FILE...]
//
// How good is the planner's pick? Times every algorithm that serves a problem, forced, on one
// thread, and prints a table in Markdown: the pick, each algorithm's time as a multiple of the
// fastest one's, and on what share of the problems the pick is within 10 % of the fastest.
// Algorithms are found by their list, so new ones come in by themselves. Without files: the suite
// and the networks of shapes/. --one-shot: the filter is packed in each call.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support.h"

namespace {

using dgrad::bench::CpuSeconds;
using dgrad::bench::Line;
using dgrad::bench::Tensors;

constexpr double kGood = 1.1;
// An algorithm this much slower than the fastest at its first call is not timed further.
constexpr double kHopeless = 4;
constexpr int kRounds = 5;

struct Options {
  bool one_shot = false;
  double seconds = 0.1;  // of one algorithm on one problem
  std::vector<std::string> files;
};

struct Candidate {
  std::string algorithm;
  std::unique_ptr<dgrad::Plan> plan;
  std::optional<dgrad::PackedFilter> packed;
  double seconds = 1e30;

  void Run(Tensors& tensors) const {
    if (packed) {
      plan->run(*packed, tensors.out_backprop, tensors.in_backprop);
    } else {
      plan->run(tensors.filter, tensors.out_backprop, tensors.in_backprop);
    }
  }
};

// The relative distance of two results; an algorithm that is fast because it is wrong must not win.
double Distance(const std::vector<float>& a, const std::vector<float>& b) {
  double error = 0;
  double norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = static_cast<double>(a[i]) - b[i];
    error += difference * difference;
    norm += static_cast<double>(b[i]) * b[i];
  }
  return std::sqrt(error / (norm + 1e-300));
}

std::vector<Candidate> Candidates(const dgrad::Problem& problem, const Options& options,
                                  Tensors& tensors) {
  std::vector<Candidate> candidates;
  std::vector<float> wanted;
  for (const std::string& algorithm : dgrad::algorithms()) {
    dgrad::PlanOptions plan;
    plan.threads = 1;
    plan.filter_packed = !options.one_shot;
    if (!dgrad::refusal(problem, algorithm, plan).empty()) continue;
    plan.algorithm = algorithm;
    Candidate candidate;
    candidate.algorithm = algorithm;
    candidate.plan = std::make_unique<dgrad::Plan>(problem, plan);
    if (!options.one_shot) candidate.packed.emplace(*candidate.plan, tensors.filter);
    candidate.Run(tensors);
    const double before = CpuSeconds();
    candidate.Run(tensors);
    candidate.seconds = CpuSeconds() - before;
    if (wanted.empty()) wanted = tensors.in_backprop;
    if (!(Distance(tensors.in_backprop, wanted) < 1e-5)) {
      std::fprintf(stderr, "%s: %s gives other values\n", problem.to_string().c_str(),
                   algorithm.c_str());
      std::exit(1);
    }
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

// The smallest time of each, rounds interleaved.
void Time(const Options& options, Tensors& tensors, std::vector<Candidate>* candidates) {
  double fastest = 1e30;
  for (const Candidate& candidate : *candidates) fastest = std::min(fastest, candidate.seconds);
  for (int round = 0; round < kRounds; ++round) {
    for (Candidate& candidate : *candidates) {
      if (candidate.seconds > kHopeless * fastest) continue;
      const double seconds =
          dgrad::bench::LeastSeconds(options.seconds / kRounds, 2, [&] { candidate.Run(tensors); });
      candidate.seconds = std::min(candidate.seconds, seconds);
    }
  }
}

Options ParseOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--one-shot") {
      options.one_shot = true;
    } else if (argument == "--seconds" && i + 1 < argc) {
      options.seconds = std::atof(argv[++i]);
    } else if (argument.starts_with("--")) {
      std::fprintf(stderr, "usage: %s [--one-shot] [--seconds S] [SHAPE FILE...]\n", argv[0]);
      std::exit(2);
    } else {
      options.files.push_back(argument);
    }
  }
  if (options.files.empty())
    options.files = {DGRAD_SHAPES "/suite.txt", DGRAD_SHAPES "/networks.txt"};
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = ParseOptions(argc, argv);
  std::printf("| layer | pick | pick / fastest | all, by time |\n| --- | --- | --- | --- |\n");
  int problems = 0;
  int with_choice = 0;
  int good = 0;
  int good_with_choice = 0;
  for (const Line& line : dgrad::bench::ReadShapes(options.files)) {
    const dgrad::Problem problem(line.problem);
    Tensors tensors(problem);
    std::vector<Candidate> candidates = Candidates(problem, options, tensors);
    const std::string pick =
        dgrad::Plan(problem, {.threads = 1, .filter_packed = !options.one_shot}).algorithm();
    if (candidates.size() > 1) Time(options, tensors, &candidates);
    std::sort(candidates.begin(), candidates.end(),
              [](const Candidate& a, const Candidate& b) { return a.seconds < b.seconds; });
    const double fastest = candidates[0].seconds;
    double ratio = 0;
    std::string all;
    for (const Candidate& candidate : candidates) {
      const double times = candidate.seconds / fastest;
      if (candidate.algorithm == pick) ratio = times;
      char text[96];
      std::snprintf(text, sizeof(text), "%s%s %.2f", all.empty() ? "" : ", ",
                    candidate.algorithm.c_str(), times);
      all += text;
    }
    ++problems;
    good += ratio <= kGood ? 1 : 0;
    if (candidates.size() > 1) {
      ++with_choice;
      good_with_choice += ratio <= kGood ? 1 : 0;
      std::printf("| %s | %s | %s%.2f%s | %s |\n", line.name.c_str(), pick.c_str(),
                  ratio > kGood ? "**" : "", ratio, ratio > kGood ? "**" : "", all.c_str());
      std::fflush(stdout);
    }
  }
  std::printf(
      "\nThe pick is within 10 %% of the fastest algorithm on %d of %d problems (%.0f %%); on %d "
      "of "
      "the %d that more than one algorithm serves, which are the rows above. One thread, %s.\n",
      good, problems, 100.0 * good / std::max(problems, 1), good_with_choice, with_choice,
      options.one_shot ? "the filter packed in each call" : "packed filters");
  return 0;
}
