// bench_landscape OUT.json [--seconds S] [--step N]
//
// Sweeps over shapes that differ by one step (landscape_maps.cc) and looks for cliffs: shapes whose
// rate is below a third of a neighbour's. One thread, packed filters, CPU time, the smallest of
// several. Fewer multiplications against the same bytes are slower on any machine, so each rate is
// also held against what the best rate of the sweep, copy bandwidth and the cost of a call, all of
// this run, allow. What looks like a cliff is measured again before it is told. Also: what
// subnormal data costs. bench/landscape.py draws the file. --step N takes every N-th shape of a
// line, for a try.
#include "landscape.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "support.h"

namespace {

using dgrad::bench::Map;
using dgrad::bench::Point;
using dgrad::bench::Tensors;

constexpr double kCliff = 1.0 / 3;

struct Limits {
  double peak = 0;       // multiply-adds a second: the best of the sweep
  double bandwidth = 0;  // bytes a second, copied in the second cache: read and written both count
  double call = 0;       // seconds
};

double SecondsOf(const std::string& text, double seconds, float scale, std::string* algorithm) {
  const dgrad::Problem problem(text);
  Tensors tensors(problem);
  for (float& value : tensors.out_backprop) value *= scale;
  const dgrad::Plan plan(problem, {.threads = 1, .filter_packed = true});
  const dgrad::PackedFilter packed(plan, tensors.filter);
  if (algorithm != nullptr) *algorithm = plan.algorithm();
  return dgrad::bench::LeastSeconds(
      seconds, 5, [&] { plan.run(packed, tensors.out_backprop, tensors.in_backprop); });
}

Limits MeasureLimits() {
  Limits limits;
  limits.call = SecondsOf("h1w1c1_k1x1_oc1", 0.02, 1, nullptr);
  std::vector<float> from(size_t{64} << 10), to(from.size());
  const double copy = dgrad::bench::LeastSeconds(0.05, 20, [&] {
    std::memcpy(to.data(), from.data(), from.size() * sizeof(float));
    __asm__ volatile("" : : "r"(to.data()) : "memory");
  });
  limits.bandwidth = 2 * static_cast<double>(from.size() * sizeof(float)) / copy;
  return limits;
}

void Measure(Point& point, double seconds) {
  const double taken = SecondsOf(point.problem, seconds, 1, &point.algorithm);
  const double work = dgrad::bench::LandingMultiplyAdds(dgrad::Problem(point.problem));
  point.gflops = std::max(point.gflops, 2e-9 * work / taken);
}

void SetLimit(const Limits& limits, Point& point) {
  const dgrad::Problem problem(point.problem);
  const dgrad_problem_info& info = problem.info();
  const double work = dgrad::bench::LandingMultiplyAdds(problem);
  const auto bytes = static_cast<double>(info.in_backprop_bytes + info.out_backprop_bytes);
  const double seconds = work / limits.peak + bytes / limits.bandwidth + limits.call;
  point.limit = 2e-9 * work / seconds;
}

// A neighbour on an axis is one step away.
template <typename Visit>
void ForNeighbours(Map& map, size_t i, size_t j, Visit visit) {
  if (i > 0) visit(map.At(i - 1, j));
  if (i + 1 < map.x.values.size()) visit(map.At(i + 1, j));
  if (j > 0) visit(map.At(i, j - 1));
  if (j + 1 < map.y.values.size()) visit(map.At(i, j + 1));
}

void SetDips(Map& map) {
  for (size_t i = 0; i < map.x.values.size(); ++i) {
    for (size_t j = 0; j < map.y.values.size(); ++j) {
      Point& point = map.At(i, j);
      point.dip = point.limit_dip = 1;
      ForNeighbours(map, i, j, [&](const Point& other) {
        point.dip = std::min(point.dip, point.gflops / other.gflops);
        point.limit_dip =
            std::min(point.limit_dip, point.gflops / point.limit / (other.gflops / other.limit));
      });
    }
  }
}

// Points that a noisy moment may have pushed down, measured again.
void MeasureDipsAgain(Map& map, double seconds) {
  SetDips(map);
  for (Point& point : map.points) {
    if (point.limit_dip < 1.5 * kCliff) Measure(point, 3 * seconds);
  }
  SetDips(map);
}

std::string Quoted(const std::string& text) { return '"' + text + '"'; }

void WriteAxis(std::FILE* file, const char* name, const dgrad::bench::MapAxis& axis) {
  std::fprintf(file, "\"%s\": {\"label\": \"%s\", \"values\": [", name, axis.label.c_str());
  for (size_t i = 0; i < axis.values.size(); ++i) {
    std::fprintf(file, "%s%lld", i == 0 ? "" : ", ", static_cast<long long>(axis.values[i]));
  }
  std::fprintf(file, "]}, ");
}

struct Subnormal {
  std::string problem, algorithm;
  double ratio;  // of the time with subnormal out_backprop to the time with normal
};

void Write(const char* path, const Limits& limits, const std::vector<Map>& maps,
           const std::vector<Subnormal>& subnormals) {
  std::FILE* const file = std::fopen(path, "w");
  if (file == nullptr) {
    std::perror(path);
    std::exit(1);
  }
  std::fprintf(file, "{\"format\": \"dgrad-landscape-1\",\n\"info\": %s,\n", dgrad::info().c_str());
  std::fprintf(file, "\"limits\": {\"gflops\": %.4g, \"bandwidth\": %.4g, \"call\": %.4g},\n",
               2e-9 * limits.peak, limits.bandwidth, limits.call);
  std::fprintf(file, "\"subnormal\": [");
  for (size_t i = 0; i < subnormals.size(); ++i) {
    std::fprintf(file, "%s\n{\"problem\": %s, \"algorithm\": %s, \"ratio\": %.3f}",
                 i == 0 ? "" : ",", Quoted(subnormals[i].problem).c_str(),
                 Quoted(subnormals[i].algorithm).c_str(), subnormals[i].ratio);
  }
  std::fprintf(file, "],\n\"maps\": [");
  for (size_t m = 0; m < maps.size(); ++m) {
    const Map& map = maps[m];
    std::fprintf(file, "%s\n{\"title\": %s, ", m == 0 ? "" : ",", Quoted(map.title).c_str());
    WriteAxis(file, "x", map.x);
    WriteAxis(file, "y", map.y);
    std::fprintf(file, "\"points\": [");
    for (size_t i = 0; i < map.points.size(); ++i) {
      const Point& point = map.points[i];
      std::fprintf(file,
                   "%s\n  {\"problem\": %s, \"algorithm\": %s, \"gflops\": %.5g, \"limit\": %.5g, "
                   "\"dip\": %.4f, \"limit_dip\": %.4f}",
                   i == 0 ? "" : ",", Quoted(point.problem).c_str(),
                   Quoted(point.algorithm).c_str(), point.gflops, point.limit, point.dip,
                   point.limit_dip);
    }
    std::fprintf(file, "]}");
  }
  std::fprintf(file, "]}\n");
  if (std::fclose(file) != 0) std::perror(path);
}

std::vector<Subnormal> MeasureSubnormals(double seconds) {
  std::vector<Subnormal> result;
  for (const char* text :
       {"h28w28c64_k3x3_oc64_p1,1,1,1", "h28w28c64_k1x1_oc64", "h32w32c32_k4x4_oc64_s2x2_p1,1,1,1",
        "h28w28c3_k3x3_oc64_p1,1,1,1", "h28w28c1_k5x5_oc32_s2x2",
        "h28w28c64_k3x3_oc64_p1,1,1,1_g64", "h28w28c64_k3x3_oc64_p1,1,1,1_g8",
        "h28w28c64_k3x3_oc64_p1,1,1,1_nchw"}) {
    Subnormal subnormal = {text, "", 0};
    const double normal = SecondsOf(text, 4 * seconds, 1, &subnormal.algorithm);
    // Around the smallest normal number: subnormal inputs, products and sums.
    subnormal.ratio = SecondsOf(text, 4 * seconds, 0x1p-126f, nullptr) / normal;
    result.push_back(subnormal);
  }
  return result;
}

// Every step-th value of long axes.
void Thin(int step, dgrad::bench::Map* map) {
  if (step == 1 || map->y.values.size() > 1) return;
  const Map all = *map;
  map->x.values.clear();
  map->points.clear();
  for (size_t i = 0; i < all.x.values.size(); i += static_cast<size_t>(step)) {
    map->x.values.push_back(all.x.values[i]);
    map->points.push_back(all.points[i]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* path = nullptr;
  double seconds = 0.03;
  int step = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--seconds" && i + 1 < argc) {
      seconds = std::atof(argv[++i]);
    } else if (argument == "--step" && i + 1 < argc) {
      step = std::max(1, std::atoi(argv[++i]));
    } else {
      path = argv[i];
    }
  }
  if (path == nullptr || path[0] == '-') {
    std::fprintf(stderr, "usage: %s OUT.json [--seconds S] [--step N]\n", argv[0]);
    return 2;
  }
  Limits limits = MeasureLimits();
  std::vector<Map> maps = dgrad::bench::LandscapeMaps();
  double best = 0;
  for (Map& map : maps) {
    Thin(step, &map);
    for (Point& point : map.points) {
      Measure(point, seconds);
      best = std::max(best, point.gflops);
    }
    std::fprintf(stderr, "%s: %zu shapes\n", map.title.c_str(), map.points.size());
  }
  limits.peak = best * 1e9 / 2;
  int shapes = 0;
  int low = 0;
  int cliffs = 0;
  for (Map& map : maps) {
    for (Point& point : map.points) SetLimit(limits, point);
    MeasureDipsAgain(map, seconds);
    for (const Point& point : map.points) {
      ++shapes;
      if (point.dip >= kCliff) continue;
      ++low;
      const bool cliff = point.limit_dip < kCliff;
      cliffs += cliff ? 1 : 0;
      std::printf(
          "%s %-48s %-9s %7.2f GFLOP/s, %.2f of a neighbour's rate, %.2f as a share of "
          "the limit\n",
          cliff ? "CLIFF" : "     ", point.problem.c_str(), point.algorithm.c_str(), point.gflops,
          point.dip, point.limit_dip);
    }
  }
  const std::vector<Subnormal> subnormals = MeasureSubnormals(seconds);
  for (const Subnormal& subnormal : subnormals) {
    std::printf("subnormal data %-40s %-9s %.2f times the time of normal data\n",
                subnormal.problem.c_str(), subnormal.algorithm.c_str(), subnormal.ratio);
  }
  std::printf(
      "%d shapes, %d below a third of a neighbour's rate, %d of these cliffs also as a "
      "share of what the machine allows\n",
      shapes, low, cliffs);
  Write(path, limits, maps, subnormals);
  return 0;
}
