// What a benchmark leaves behind, and its file.
#ifndef DGRAD_CLI_BENCH_RECORD_H_
#define DGRAD_CLI_BENCH_RECORD_H_

#include <string>
#include <vector>

namespace dgrad::cli {

struct BenchRow {
  std::string problem, name, algorithm, isa;
  int threads = 0;
  bool packed = false;
  double multiply_adds = 0;
  double peak_gflops = 0;  // measured around this row, the mean of all passes
  // Seconds of one run, one a sample, in passes that have other things between them.
  std::vector<std::vector<double>> passes;

  // Two runs with the same key are compared.
  std::string Key() const { return problem + (packed ? "" : " unpacked"); }
  std::vector<double> PassMedians() const;
  double Seconds() const;  // the median of the passes' medians
  double Gflops() const;   // at that
};

// JSON: {"format": "dgrad-bench-1", "info": {...}, "rows": [...]}.
std::string ToJson(const std::vector<BenchRow>& rows);
// Throws a Failure that names the file.
std::vector<BenchRow> ReadBench(const std::string& path);

// Prints how b differs from a, with intervals. Throws a Failure if they have nothing in common.
void CompareBenches(const std::string& path_a, const std::string& path_b);

}  // namespace dgrad::cli

#endif  // DGRAD_CLI_BENCH_RECORD_H_
