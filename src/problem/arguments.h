// TensorFlow's arguments -> Problem: every check of the arguments and every message.
#ifndef DGRAD_PROBLEM_ARGUMENTS_H_
#define DGRAD_PROBLEM_ARGUMENTS_H_

#include <cstdint>
#include <optional>
#include <span>

#include "src/base/status.h"
#include "src/problem/problem.h"

namespace dgrad {

enum class Padding : int32_t { kValid = 0, kSame = 1, kExplicit = 2 };

// As the caller gave them, in data_format order; nothing is checked yet.
struct Arguments {
  std::span<const int64_t> input_sizes;                        // 4, or 2: [height, width]
  std::span<const int64_t> filter_shape;                       // rows, columns, C/groups, OC
  std::optional<std::span<const int64_t>> out_backprop_shape;  // absent: computed
  std::span<const int64_t> strides;                            // 4
  std::optional<std::span<const int64_t>> dilations;           // 4; absent: all 1
  std::span<const int64_t> explicit_paddings;                  // 8, only with kExplicit
  Padding padding = Padding::kValid;
  Layout layout = Layout::kNhwc;
  DType dtype = DType::kF32;
};

// Checks in the order of TensorFlow's default kernel and fills *problem. Shapes of empty tensors
// are checked like any others. On failure *problem is untouched.
Status MakeProblem(const Arguments& arguments, Problem* problem);

}  // namespace dgrad

#endif  // DGRAD_PROBLEM_ARGUMENTS_H_
