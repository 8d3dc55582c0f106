// dgrad check: every algorithm on every instruction set against the reference.
#include <cstring>
#include <memory>

#include "command.h"
#include "flags.h"
#include "interrupt.h"
#include "oracle.h"
#include "progress.h"
#include "shapes.h"
#include "stream.h"
#include "text.h"

namespace dgrad::cli {
namespace {

constexpr const char* kFooter =
    "Each problem is computed by every algorithm that serves it, on every instruction set of the "
    "machine, with a plain and a packed filter and several numbers of threads, and compared with "
    "the "
    "reference: all elements of small problems, some channels of large ones. A line that begins "
    "with "
    "!invalid_argument (or another status) names a problem that must be refused.\n"
    "\n"
    "Examples:\n"
    "  dgrad check shapes/\n"
    "  dgrad check n2_h7w7c17_k3x3_oc15_psame_bf16 '!invalid_argument h4w4c3_k5x5_oc2'\n"
    "  dgrad check --quick --algorithm direct shapes/networks.txt";

// Above this, in multiply-adds, the reference computes some channels only.
constexpr double kReferenceWork = 2e7;
// Above this, a problem is run once per algorithm and instruction set, and --quick leaves it out.
constexpr double kLargeWork = 1e8;

struct Flags {
  std::vector<std::string> problems;
  std::string algorithm, isa;
  bool quick = false;
};

struct Tally {
  int problems = 0, runs = 0, left_out = 0, failures = 0;
};

// One run, with a plain or a packed filter.
void RunPlan(const Problem& problem, const Operands& operands, const PlanOptions& options,
             bool packed, Buffer* result) {
  std::memset(result->data(), 0xFF, result->size());  // NaNs, and no zeros
  const RunOptions run = {.poll = [] { return WasInterrupted(); }};
  PlanOptions used = options;
  used.filter_packed = packed;
  const Plan plan(problem, used);
  if (packed) {
    plan.run(PackedFilter(plan, operands.filter.bytes()), operands.out_backprop.bytes(),
             result->bytes(), run);
  } else {
    plan.run(operands.filter.bytes(), operands.out_backprop.bytes(), result->bytes(), run);
  }
}

// One algorithm on one instruction set.
std::string CheckOne(const Problem& problem, const Operands& operands, const Oracle& oracle,
                     PlanOptions options, bool direct, Tally* tally) {
  Buffer result(problem.info().in_backprop_bytes);
  options.threads = 3;
  RunPlan(problem, operands, options, true, &result);
  ++tally->runs;
  std::string trouble = oracle.Compare(result.bytes(), direct);
  if (!trouble.empty() || problem.info().multiply_adds > kLargeWork) return trouble;
  Buffer again(result.size());
  options.threads = 1;
  RunPlan(problem, operands, options, false, &again);
  ++tally->runs;
  trouble = oracle.Compare(again.bytes(), direct);
  if (trouble.empty() && std::memcmp(again.data(), result.data(), result.size()) != 0) {
    return "one thread and a plain filter give other bits than three threads and a packed one";
  }
  return trouble;
}

// Empty, or one line a failure.
std::string CheckProblem(const Problem& problem, const Flags& flags, Progress* progress,
                         Tally* tally, std::string* served) {
  const std::string text = problem.to_string();
  progress->Tell(text + ": reference");
  const Operands operands(problem);
  const Oracle oracle(problem, operands, kReferenceWork);
  std::string failures;
  for (const std::string& algorithm : algorithms()) {
    if (!flags.algorithm.empty() && algorithm != flags.algorithm) continue;
    bool serves = false;
    for (const Isa isa : UsableIsas()) {
      if (!flags.isa.empty() && isa != IsaOf(flags.isa)) continue;
      // Forced, it must serve the tier. What serves the strict one sums directly.
      PlanOptions options = {.accuracy = Accuracy::kStrict, .isa = isa};
      const bool direct = refusal(problem, algorithm, options).empty();
      if (!direct) options.accuracy = Accuracy::kFast;
      if (!direct && !refusal(problem, algorithm, options).empty()) continue;
      StopIfInterrupted();
      options.algorithm = algorithm;
      const std::string where = Format("%s on %s", algorithm.c_str(), NameOf(isa).c_str());
      progress->Tell(Format("%s: %s", text.c_str(), where.c_str()));
      serves = true;
      const std::string trouble = CheckOne(problem, operands, oracle, options, direct, tally);
      if (!trouble.empty()) failures.append("\n  ").append(where).append(": ").append(trouble);
    }
    if (serves) served->append(served->empty() ? "" : ", ").append(algorithm);
  }
  if (oracle.share() < 1) *served += Format(" (%.2g %% of the elements)", 100 * oracle.share());
  return failures;
}

// The line must be refused with its status.
std::string CheckRefusal(const ShapeLine& line) {
  try {
    const Problem problem(line.problem);
    return "\n  it is accepted as " + problem.to_string();
  } catch (const Error& error) {
    if (error.status() == line.expected) return "";
    return "\n  it is refused as " + NameOfStatus(error.status()) + ": " + error.what();
  }
}

void CheckLine(const ShapeLine& line, const Flags& flags, Progress* progress, Tally* tally) {
  std::string failures, note;
  if (line.expected != DGRAD_OK) {
    failures = CheckRefusal(line);
    note = "refused: " + NameOfStatus(line.expected);
  } else {
    try {
      const Problem problem(line.problem);
      if (flags.quick && problem.info().multiply_adds > kLargeWork) {
        ++tally->left_out;
        return;
      }
      failures = CheckProblem(problem, flags, progress, tally, &note);
    } catch (const CancelledError&) {
      throw Interrupted();
    } catch (const Error& error) {
      failures = std::string("\n  ") + error.what();
    }
  }
  ++tally->problems;
  progress->Clear();
  const std::string where = line.where.empty() ? "" : line.where + " ";
  if (failures.empty()) {
    Out().Line(Out().Colour(32, "ok") + "    " + where + line.problem + "  " + note);
  } else {
    ++tally->failures;
    Out().Line(Out().Colour(31, "WRONG") + " " + where + line.problem + failures);
  }
}

int Run(const Flags& flags) {
  const std::vector<ShapeLine> lines = ReadShapes(flags.problems);
  if (!flags.isa.empty()) {
    bool usable = false;
    for (const Isa isa : UsableIsas()) usable = usable || isa == IsaOf(flags.isa);
    if (!usable) throw Failure("this machine can't run " + flags.isa);
  }
  Progress progress;
  Tally tally;
  for (const ShapeLine& line : lines) {
    StopIfInterrupted();
    CheckLine(line, flags, &progress, &tally);
  }
  std::string summary =
      Format("%d problems, %d runs, %d wrong", tally.problems, tally.runs, tally.failures);
  if (tally.left_out > 0) summary += Format(", %d large ones left out", tally.left_out);
  Out().Line(summary);
  return tally.failures == 0 ? kOk : kFailed;
}

}  // namespace

void AddCheck(CLI::App& app, Action* action) {
  CLI::App* command = app.add_subcommand("check", "Compare every algorithm with the reference");
  const auto flags = std::make_shared<Flags>();
  command->footer(kFooter);
  AddProblems(*command, &flags->problems);
  AddChoice(*command, "--algorithm", &flags->algorithm, algorithms(), "This algorithm only");
  AddChoice(*command, "--isa", &flags->isa, {"avx512", "avx2", "sse4", "neon", "scalar"},
            "This instruction set only");
  command->add_flag("--quick", flags->quick, "Leave problems above 100 million multiply-adds out");
  command->callback([=] { *action = [flags] { return Run(*flags); }; });
}

}  // namespace dgrad::cli
