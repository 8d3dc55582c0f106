// dgrad bench: times problems, and compares two such runs.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include "bench_record.h"
#include "command.h"
#include "flags.h"
#include "interrupt.h"
#include "oracle.h"
#include "output_file.h"
#include "peak.h"
#include "shapes.h"
#include "statistics.h"
#include "stream.h"
#include "text.h"

namespace dgrad::cli {
namespace {

constexpr const char* kFooter =
    "Times are medians of one run with a packed filter (--unpacked: a plain one). All problems are "
    "timed in several passes, in memory of its own each, so that their spread is that of the "
    "machine and not of one moment; the rows appear in the last pass. GFLOP/s count two operations "
    "a "
    "multiply-add of the definition, those that padding clips included. The peak is what a loop of "
    "multiply-adds reaches on as many threads right before and after the problem. Each result is "
    "compared with the reference before it is timed. --compare tells changes with 95 % intervals, "
    "from the spread between passes: compare runs of the same machine, made one soon after the "
    "other.\n"
    "\n"
    "Examples:\n"
    "  dgrad bench shapes/suite.txt\n"
    "  dgrad bench n8_h28w28c128_k3x3_oc128_psame --threads 1 --json before.json\n"
    "  dgrad bench --compare before.json after.json";

// In multiply-adds; only some channels are compared, as dgrad check does it thoroughly.
constexpr double kReferenceWork = 2e6;
constexpr size_t kFewestSamples = 3;  // of a pass
constexpr size_t kMostSamples = 1000;
constexpr double kSampleSeconds = 1e-3;  // shorter runs are timed several at once

using Clock = std::chrono::steady_clock;

struct Flags {
  std::vector<std::string> problems, compare;
  std::string json;
  double seconds = 0.5;
  int passes = 5;
  bool force = false;
  bool unpacked = false;
  PlanFlags plan;
};

double Since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// One problem with everything that a run needs.
class Timing {
 public:
  Timing(const std::string& text, const PlanOptions& options)
      : problem_(text),
        operands_(problem_),
        plan_(problem_, options),
        result_(problem_.info().in_backprop_bytes) {
    if (options.filter_packed) packed_.emplace(plan_, operands_.filter.bytes());
  }

  const Problem& problem() const { return problem_; }
  const Plan& plan() const { return plan_; }

  void Check(const PlanOptions& options) {
    RunOnce();
    PlanOptions strict = options;
    strict.accuracy = Accuracy::kStrict;
    strict.algorithm.clear();
    const bool direct = refusal(problem_, plan_.algorithm(), strict).empty();
    const Oracle oracle(problem_, operands_, kReferenceWork);
    const std::string trouble = oracle.Compare(result_.bytes(), direct);
    if (!trouble.empty()) {
      throw Failure(problem_.to_string() + ": the result is wrong: " + trouble);
    }
  }

  std::vector<double> Measure(double seconds) {
    int runs = 1;
    double once = TimeOf(1);  // the caches are warm after this
    once = std::min(once, TimeOf(1));
    if (once < kSampleSeconds) {
      runs = static_cast<int>(kSampleSeconds / std::max(once, 1e-8)) + 1;
    }
    std::vector<double> samples;
    const Clock::time_point start = Clock::now();
    while (samples.size() < kFewestSamples ||
           (Since(start) < seconds && samples.size() < kMostSamples)) {
      samples.push_back(TimeOf(runs));
    }
    return samples;
  }

 private:
  void RunOnce() {
    const RunOptions options = {.poll = [] { return WasInterrupted(); }};
    if (packed_) {
      plan_.run(*packed_, operands_.out_backprop.bytes(), result_.bytes(), options);
    } else {
      plan_.run(operands_.filter.bytes(), operands_.out_backprop.bytes(), result_.bytes(), options);
    }
  }

  double TimeOf(int runs) {
    StopIfInterrupted();
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < runs; ++i) RunOnce();
    return Since(start) / runs;
  }

  Problem problem_;
  Operands operands_;
  Plan plan_;
  std::optional<PackedFilter> packed_;
  Buffer result_;
};

constexpr const char* kRow = "%10s %9s %6s %7s  %-8s %s";

// A row while it is being measured, on a terminal; the caller overwrites it.
void ShowRunning(const std::string& what) {
  if (!Out().is_terminal()) return;
  Out().Write("\r\x1b[K" + Format(kRow, "...", "", "", "", "", what.c_str()));
  Out().Flush();
}

void Show(const BenchRow& row) {
  const std::vector<double> medians = row.PassMedians();
  const auto [least, most] = std::minmax_element(medians.begin(), medians.end());
  const double share = row.Gflops() / row.peak_gflops;
  const std::string line = Format(
      kRow, Duration(row.Seconds()).c_str(), Format("%.1f", row.Gflops()).c_str(),
      Format("%.0f %%", 100 * share).c_str(), Format("%.1f %%", 100 * (*most / *least - 1)).c_str(),
      row.algorithm.c_str(), (row.problem + (row.name.empty() ? "" : "  # " + row.name)).c_str());
  Out().Line((Out().is_terminal() ? "\r\x1b[K" : "") + line);
}

// One pass over one problem; the first one checks the result.
void MeasurePass(const ShapeLine& line, const Flags& flags, BenchRow* row) {
  PlanOptions options = flags.plan.Options();
  options.filter_packed = !flags.unpacked;
  Timing timing(line.problem, options);
  if (row->passes.empty()) {
    timing.Check(options);
    row->problem = timing.problem().to_string();
    row->name = line.name;
    row->algorithm = timing.plan().algorithm();
    row->isa = NameOf(timing.plan().isa());
    row->threads = timing.plan().threads();
    row->packed = !flags.unpacked;
    row->multiply_adds = timing.problem().info().multiply_adds;
  }
  const auto peak = [&] {
    return MeasurePeak(timing.plan().isa(), timing.plan().dtype(), row->threads);
  };
  double peaks = peak();
  row->passes.push_back(timing.Measure(flags.seconds / flags.passes));
  peaks += peak();
  row->peak_gflops += peaks / (2 * flags.passes);
}

void Summarise(const std::vector<BenchRow>& rows) {
  double seconds = 0, shares = 0;
  for (const BenchRow& row : rows) {
    seconds += row.Seconds();
    shares += row.Gflops() / row.peak_gflops;
  }
  Out().Line(Format("%zu problems, %s in all, %.0f %% of the peak on average; %s, %d threads",
                    rows.size(), Duration(seconds).c_str(),
                    100 * shares / static_cast<double>(rows.size()), rows.front().isa.c_str(),
                    rows.front().threads));
}

int Run(const Flags& flags) {
  if (!flags.compare.empty()) {
    if (!flags.problems.empty() || !flags.json.empty()) {
      throw UsageError("--compare takes two files and nothing else");
    }
    CompareBenches(flags.compare[0], flags.compare[1]);
    return kOk;
  }
  if (flags.problems.empty()) throw UsageError("problems, or --compare with two files, are needed");
  std::vector<ShapeLine> lines = ReadShapes(flags.problems);
  std::erase_if(lines, [](const ShapeLine& line) { return line.expected != DGRAD_OK; });
  if (lines.empty()) throw Failure("no problem is left to time");

  std::optional<OutputFile> file;
  const bool json_only = flags.json == "-";
  if (!flags.json.empty() && !json_only) file.emplace(flags.json, flags.force);
  std::vector<BenchRow> rows(lines.size());
  if (!json_only) {
    Out().Line(Format(kRow, "time", "GFLOP/s", "peak", "spread", "by", "problem"));
  }
  for (int pass = 1; pass <= flags.passes; ++pass) {
    for (size_t i = 0; i < lines.size(); ++i) {
      StopIfInterrupted();
      if (!json_only) {
        ShowRunning(Format("%s (pass %d of %d)", lines[i].problem.c_str(), pass, flags.passes));
      }
      MeasurePass(lines[i], flags, &rows[i]);
      if (!json_only && pass == flags.passes) Show(rows[i]);
    }
  }
  if (json_only) {
    Out().Write(ToJson(rows));
    return kOk;
  }
  Summarise(rows);
  if (file) {
    file->Write(ToJson(rows));
    file->Commit();
  }
  return kOk;
}

}  // namespace

void AddBench(CLI::App& app, Action* action) {
  CLI::App* command = app.add_subcommand("bench", "Time problems, or compare two such runs");
  const auto flags = std::make_shared<Flags>();
  command->footer(kFooter);
  AddProblems(*command, &flags->problems)->required(false);
  command->add_option("--json", flags->json, "Write all samples to a file; - is standard output")
      ->type_name("FILE");
  command->add_flag("--force", flags->force, "Overwrite the file of --json");
  command
      ->add_option("--compare", flags->compare, "Tell how the second file differs from the first")
      ->type_name("FILE")
      ->expected(2);
  command->add_option("--seconds", flags->seconds, "Time for each problem (default: 0.5)")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 3600.0).description(""));
  command->add_option("--passes", flags->passes, "Passes over all problems (default: 5)")
      ->type_name("N")
      ->check(CLI::Range(2, 1000).description(""));
  command->add_flag("--unpacked", flags->unpacked, "Pack the filter in every run");
  flags->plan.Add(*command);
  command->callback([=] { *action = [flags] { return Run(*flags); }; });
}

}  // namespace dgrad::cli
