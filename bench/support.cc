#include "support.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>

namespace dgrad::bench {

std::vector<Line> ReadShapes(const std::vector<std::string>& files) {
  std::vector<Line> lines;
  for (const std::string& file : files) {
    std::ifstream stream(file);
    if (!stream) {
      std::fprintf(stderr, "can't read %s\n", file.c_str());
      std::exit(2);
    }
    for (std::string text; std::getline(stream, text);) {
      Line line;
      line.problem = text.substr(0, text.find_first_of(" #"));
      if (line.problem.empty() || line.problem[0] == '!') continue;
      const size_t name = text.find("# ");
      line.name = name == std::string::npos ? line.problem : text.substr(name + 2);
      lines.push_back(line);
    }
  }
  return lines;
}

double LandingMultiplyAdds(const Problem& problem) {
  const dgrad_problem_info& info = problem.info();
  double product =
      static_cast<double>(info.in_backprop_shape[0] * info.filter_shape[2] * info.filter_shape[3]);
  for (int axis = 0; axis < 2; ++axis) {
    int64_t landing = 0;
    for (int64_t tap = 0; tap < info.filter_shape[axis]; ++tap) {
      for (int64_t out = 0; out < info.out_backprop_shape[1 + axis]; ++out) {
        const int64_t in =
            out * info.strides[axis] + tap * info.dilations[axis] - info.paddings[2 * axis];
        if (in >= 0 && in < info.in_backprop_shape[1 + axis]) ++landing;
      }
    }
    product *= static_cast<double>(landing);
  }
  return product;
}

std::vector<float> Fill(uint64_t bytes, uint32_t seed) {
  std::vector<float> values(bytes / sizeof(float));
  for (float& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(seed >> 8) * 0x1p-23f - 1.0f;
  }
  return values;
}

double CpuSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace dgrad::bench
