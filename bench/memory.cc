// bench_memory [--limit MIB] [SHAPE FILE...]
//
// How much memory does a call take beyond its tensors? Prints docs/performance/memory.md: for each
// problem the plan's own figures, and by how much the peak of resident memory rises from just
// before the plan is made, in a fresh process, so that everything counts. Without files:
// shapes/memory.txt. Every page of the filter and of the result is written before; out_backprop
// stays unwritten, zeros that are not resident, so that the largest layers need half the memory.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "support.h"

namespace {

using dgrad::bench::Line;

constexpr double kMiB = 1 << 20;
// Beyond this many a problem's plan is asked, but not run; PrintHead says it too.
constexpr double kMostMultiplyAdds = 3e12;
constexpr uint64_t kSpare = uint64_t{3} << 30;  // bytes of the machine to leave alone

// What a child process says about one problem.
struct Figures {
  char algorithm[32];
  double filter;   // MiB, as all here
  double tensors;  // the three of them
  double workspace;
  double packed_filter;
  double rise;  // of the peak in the call; -1: not run
};

// A line of a file in /proc that gives KiB, in MiB; 0 when there is none.
double ProcMiB(const char* file, const std::string& key) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (line.rfind(key + ":", 0) == 0) return std::atof(line.c_str() + key.size() + 1) / 1024;
  }
  return 0;
}

std::span<std::byte> Map(uint64_t bytes, bool touch) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) throw std::bad_alloc();
  if (touch) std::memset(data, 0, bytes);
  return {static_cast<std::byte*>(data), bytes};
}

Figures Measure(const std::string& text, uint64_t limit, bool packed) {
  Figures figures = {};
  const dgrad::Problem problem(text);
  const dgrad_problem_info& info = problem.info();
  figures.filter = static_cast<double>(info.filter_bytes) / kMiB;
  figures.tensors = figures.filter + static_cast<double>(info.out_backprop_bytes) / kMiB +
                    static_cast<double>(info.in_backprop_bytes) / kMiB;
  figures.rise = -1;
  const bool fits = ProcMiB("/proc/meminfo", "MemAvailable") * kMiB >
                    static_cast<double>(info.in_backprop_bytes + kSpare);
  const bool run = fits && info.multiply_adds <= kMostMultiplyAdds;
  const std::span<std::byte> filter = Map(info.filter_bytes, run);
  const std::span<std::byte> out_backprop = Map(info.out_backprop_bytes, false);
  const std::span<std::byte> in_backprop = Map(info.in_backprop_bytes, run);
  const double before = ProcMiB("/proc/self/status", "VmRSS");

  const dgrad::Plan plan(problem, {.filter_packed = packed, .workspace_limit = limit});
  std::snprintf(figures.algorithm, sizeof figures.algorithm, "%s", plan.algorithm().c_str());
  figures.workspace = static_cast<double>(plan.workspace_bytes()) / kMiB;
  figures.packed_filter = static_cast<double>(plan.packed_filter_bytes()) / kMiB;
  if (!run) return figures;
  if (packed) {
    plan.run(dgrad::PackedFilter(plan, filter), out_backprop, in_backprop);
  } else {
    plan.run(filter, out_backprop, in_backprop);
  }
  figures.rise = ProcMiB("/proc/self/status", "VmHWM") - before;
  return figures;
}

// In a process of its own, which has never called the library before.
Figures MeasureApart(const std::string& text, uint64_t limit, bool packed) {
  int ends[2];
  if (pipe(ends) != 0) std::exit(1);
  const pid_t child = fork();
  if (child == 0) {
    try {
      const Figures figures = Measure(text, limit, packed);
      if (write(ends[1], &figures, sizeof figures) == sizeof figures) _exit(0);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s: %s\n", text.c_str(), error.what());
    }
    _exit(1);
  }
  Figures figures = {};
  close(ends[1]);
  const bool whole = read(ends[0], &figures, sizeof figures) == sizeof figures;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (child < 0 || !whole || status != 0) {
    std::fprintf(stderr, "%s: not measured\n", text.c_str());
    std::exit(1);
  }
  return figures;
}

std::string Text(double mib) {
  if (mib < 0) return "not run";
  char text[32];
  std::snprintf(text, sizeof text, mib < 0.095 ? "%.2f" : mib < 99.5 ? "%.1f" : "%.0f", mib);
  return text;
}

// Of the two plans: one word where they agree.
std::string Both(const std::string& one_shot, const std::string& packed) {
  return one_shot == packed ? packed : one_shot + " / " + packed;
}

void PrintTable(const std::vector<Line>& lines, uint64_t limit) {
  std::printf(
      "| layer | problem | tensors | filter | algorithm | workspace | one-shot rise | packed "
      "filter | "
      "of the filter | rise with it |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const Line& line : lines) {
    std::fprintf(stderr, "%s\n", line.problem.c_str());
    const Figures plain = MeasureApart(line.problem, limit, false);
    const Figures packed = MeasureApart(line.problem, limit, true);
    std::printf("| %s | `%s` | %s | %s | %s | %s | %s | %s | %.2f | %s |\n", line.name.c_str(),
                line.problem.c_str(), Text(plain.tensors).c_str(), Text(plain.filter).c_str(),
                Both(plain.algorithm, packed.algorithm).c_str(),
                Both(Text(plain.workspace), Text(packed.workspace)).c_str(),
                Text(plain.rise).c_str(), Text(packed.packed_filter).c_str(),
                packed.packed_filter / packed.filter, Text(packed.rise).c_str());
    std::fflush(stdout);
  }
}

void PrintHead() {
  std::ifstream stream("/proc/cpuinfo");
  std::string cpu = "unknown processor";
  for (std::string line; std::getline(stream, line);) {
    if (line.rfind("model name", 0) == 0) {
      cpu = line.substr(line.find(':') + 2);
      break;
    }
  }
  std::printf(
      "# Memory of a call beyond its tensors\n\n"
      "MiB. %s, %ld processors. A line is two fresh processes: a one-shot call, which packs\n"
      "the filter itself, and a call that is given the packed filter. *Rise* is how much the\n"
      "peak of resident memory (VmHWM) grows from just before the plan is made: workspace,\n"
      "packed filter, plan, the library's code, its threads. The first line, the smallest\n"
      "call, shows what of it no layer avoids. *Tensors* are the filter, out_backprop and\n"
      "in_backprop. Where two figures stand, the second is of the plan for a packed filter.\n\n"
      "Workspace is what `workspace_limit` bounds, 32 MiB by default; a filter that a one-shot\n"
      "call packs as a whole comes on top. A packed filter is as large as the filter with its\n"
      "channels rounded up to whole tiles, in float32 for the half types (pairs of bfloat16 in\n"
      "`dot`); `pixels` has room for that of the direct algorithm, whose channels are whole\n"
      "vectors. A layer of more than 3e12 multiply-adds is planned, not run.\n\n"
      "`build/release/bench/bench_memory > docs/performance/memory.md` makes this page anew.\n\n"
      "## With the default limit of workspace\n\n",
      cpu.c_str(), sysconf(_SC_NPROCESSORS_ONLN));
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t mib = 4;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--limit") == 0 && i + 1 < argc) {
      mib = std::strtoull(argv[++i], nullptr, 10);
    } else if (argv[i][0] == '-') {
      std::fprintf(stderr, "usage: bench_memory [--limit MIB] [SHAPE FILE...]\n");
      return 2;
    } else {
      files.emplace_back(argv[i]);
    }
  }
  if (mib == 0) {
    std::fprintf(stderr, "--limit wants a number of MiB\n");
    return 2;
  }
  if (files.empty()) files.emplace_back(DGRAD_SHAPES "/memory.txt");
  const std::vector<Line> lines = dgrad::bench::ReadShapes(files);
  PrintHead();
  PrintTable(lines, 0);
  std::printf("\n## With a limit of %llu MiB of workspace\n\n",
              static_cast<unsigned long long>(mib));
  PrintTable(lines, mib << 20);
}
