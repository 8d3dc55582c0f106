// The sweep over shapes: maps of one or two dimensions in which neighbours differ by one step.
#ifndef DGRAD_BENCH_LANDSCAPE_H_
#define DGRAD_BENCH_LANDSCAPE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace dgrad::bench {

struct MapAxis {
  std::string label;
  std::vector<int64_t> values;
};

// One measured shape.
struct Point {
  std::string problem;  // empty: no such problem (the filter is larger than the padded input)
  std::string algorithm;
  double gflops = 0;  // of the multiplications that land
  double limit = 0;   // GFLOP/s that the best rate of all, bandwidth and the cost of a call allow
  // Rate over the best neighbour's, and the same with rates as shares of their limits.
  double dip = 1, limit_dip = 1;
};

// Points in row-major order of the axes; the second axis of a line has one value.
struct Map {
  std::string title;
  MapAxis x, y;
  std::vector<Point> points;

  Point& At(size_t i, size_t j) { return points[i * y.values.size() + j]; }
};

// All maps, with problem strings and nothing measured.
std::vector<Map> LandscapeMaps();

}  // namespace dgrad::bench

#endif  // DGRAD_BENCH_LANDSCAPE_H_
