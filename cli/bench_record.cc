#include "bench_record.h"

#include <algorithm>
#include <cmath>
#include <dgrad/dgrad.hpp>
#include <map>

#include "byte_source.h"
#include "error.h"
#include "json.h"
#include "statistics.h"
#include "stream.h"
#include "text.h"

namespace dgrad::cli {
namespace {

constexpr const char* kFormat = "dgrad-bench-1";
constexpr size_t kMostBytes = 256u << 20;

BenchRow RowOf(const Json& json) {
  BenchRow row;
  row.problem = json["problem"].text();
  row.name = json["name"].text();
  row.algorithm = json["algorithm"].text();
  row.isa = json["isa"].text();
  row.threads = static_cast<int>(std::clamp(json["threads"].number(), 0.0, 1e6));
  row.packed = json["filter"].text() == "packed";
  row.multiply_adds = json["multiply_adds"].number();
  row.peak_gflops = json["peak_gflops"].number();
  for (const Json& pass : json["passes"].items()) {
    std::vector<double> seconds;
    for (const Json& second : pass.items()) {
      if (!(second.number() > 0)) throw Failure("a time is not positive");
      seconds.push_back(second.number());
    }
    if (seconds.empty()) throw Failure("a pass has no times");
    row.passes.push_back(std::move(seconds));
  }
  if (row.passes.size() < 2) throw Failure("a row has less than two passes");
  return row;
}

std::string ReadText(const std::string& path) {
  const auto file = OpenFile(path);
  std::string text;
  std::vector<char> piece(1 << 16);
  while (const size_t got = file->Read(std::as_writable_bytes(std::span(piece)))) {
    text.append(piece.data(), got);
    if (text.size() > kMostBytes) throw Failure(Quote(path) + " is too large for a benchmark");
  }
  return text;
}

std::string Percent(double ratio) { return Format("%+.1f %%", 100 * (ratio - 1)); }

// Notes about what makes a row no fair comparison; may be empty.
std::string Notes(const BenchRow& a, const BenchRow& b) {
  std::string notes;
  if (a.algorithm != b.algorithm) notes += "  " + a.algorithm + " -> " + b.algorithm;
  if (a.isa != b.isa) notes += "  " + a.isa + " -> " + b.isa;
  if (a.threads != b.threads) notes += Format("  %d -> %d threads", a.threads, b.threads);
  const double peaks = b.peak_gflops / a.peak_gflops;
  if (std::abs(peaks - 1) > 0.1) notes += "  (machine's peak " + Percent(peaks) + ")";
  return notes;
}

}  // namespace

std::vector<double> BenchRow::PassMedians() const {
  std::vector<double> medians;
  for (const std::vector<double>& pass : passes) medians.push_back(Median(pass));
  return medians;
}

double BenchRow::Seconds() const { return Median(PassMedians()); }

double BenchRow::Gflops() const { return 2e-9 * multiply_adds / Seconds(); }

std::string ToJson(const std::vector<BenchRow>& rows) {
  std::string text =
      std::string("{\"format\": \"") + kFormat + "\", \"info\": " + info() + ",\n \"rows\": [";
  for (const BenchRow& row : rows) {
    text += &row == &rows.front() ? "\n  {" : ",\n  {";
    text += "\"problem\": " + JsonText(row.problem) + ", \"name\": " + JsonText(row.name) +
            ", \"algorithm\": " + JsonText(row.algorithm) + ", \"isa\": " + JsonText(row.isa) +
            Format(
                ", \"threads\": %d, \"filter\": \"%s\", \"multiply_adds\": %.17g, "
                "\"peak_gflops\": %.6g, \"median_seconds\": %.9g, \"gflops\": %.6g, "
                "\"passes\": [",
                row.threads, row.packed ? "packed" : "plain", row.multiply_adds, row.peak_gflops,
                row.Seconds(), row.Gflops());
    for (const std::vector<double>& pass : row.passes) {
      text += &pass == &row.passes.front() ? "[" : ", [";
      for (size_t i = 0; i < pass.size(); ++i) text += Format(i == 0 ? "%.9g" : ", %.9g", pass[i]);
      text += "]";
    }
    text += "]}";
  }
  return text + "\n]}\n";
}

std::vector<BenchRow> ReadBench(const std::string& path) {
  const std::string text = ReadText(path);
  try {
    const Json json = Json::Parse(text);
    if (json["format"].text() != kFormat) {
      throw Failure("its format is " + Quote(json["format"].text()) + ", not " + kFormat);
    }
    std::vector<BenchRow> rows;
    for (const Json& row : json["rows"].items()) rows.push_back(RowOf(row));
    return rows;
  } catch (const Failure& failure) {
    throw Failure(Quote(path) + " is no file of dgrad bench --json: " + failure.what());
  }
}

void CompareBenches(const std::string& path_a, const std::string& path_b) {
  const std::vector<BenchRow> a = ReadBench(path_a);
  const std::vector<BenchRow> b = ReadBench(path_b);
  std::map<std::string, const BenchRow*> of_b;
  for (const BenchRow& row : b) of_b[row.Key()] = &row;
  Out().Line(Format("%10s %10s %9s  %-20s", "before", "after", "time", "95 % interval"));
  int common = 0, faster = 0, slower = 0;
  double log_sum = 0;
  for (const BenchRow& before : a) {
    const auto found = of_b.find(before.Key());
    if (found == of_b.end()) continue;
    const BenchRow& after = *found->second;
    const Change change = ChangeOf(before.PassMedians(), after.PassMedians());
    ++common;
    log_sum += std::log(change.ratio);
    std::string verdict = "same  ";
    if (change.high < 1) {
      ++faster;
      verdict = Out().Colour(32, "faster");
    } else if (change.low > 1) {
      ++slower;
      verdict = Out().Colour(31, "slower");
    }
    const std::string range = "[" + Percent(change.low) + ", " + Percent(change.high) + "]";
    Out().Line(Format("%10s %10s %9s  %-20s %s  %s%s", Duration(before.Seconds()).c_str(),
                      Duration(after.Seconds()).c_str(), Percent(change.ratio).c_str(),
                      range.c_str(), verdict.c_str(), before.Key().c_str(),
                      Notes(before, after).c_str()));
  }
  if (common == 0) {
    throw Failure(Quote(path_a) + " and " + Quote(path_b) + " have no problem in common");
  }
  Out().Line(Format(
      "%d problems in common (%zu and %zu): %d faster, %d slower; geometric mean of the "
      "times %s",
      common, a.size(), b.size(), faster, slower, Percent(std::exp(log_sum / common)).c_str()));
}

}  // namespace dgrad::cli
