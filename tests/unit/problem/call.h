// One call of MakeProblem for tests: owns its lists, legal until a test changes it.
#ifndef DGRAD_TESTS_UNIT_PROBLEM_CALL_H_
#define DGRAD_TESTS_UNIT_PROBLEM_CALL_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "src/problem/arguments.h"

namespace dgrad {

inline constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
inline constexpr int64_t kInt32Max = std::numeric_limits<int32_t>::max();
using List = std::vector<int64_t>;

struct Call {
  List input_sizes = {1, 4, 5, 2};
  List filter_shape = {3, 2, 2, 3};
  std::optional<List> out_backprop_shape = List{1, 2, 4, 3};
  List strides = {1, 1, 1, 1};
  std::optional<List> dilations;
  List explicit_paddings;
  Padding padding = Padding::kValid;
  Layout layout = Layout::kNhwc;
  DType dtype = DType::kF32;

  Status Make(Problem* problem) const {
    Arguments arguments;
    arguments.input_sizes = input_sizes;
    arguments.filter_shape = filter_shape;
    if (out_backprop_shape) arguments.out_backprop_shape = *out_backprop_shape;
    arguments.strides = strides;
    if (dilations) arguments.dilations = *dilations;
    arguments.explicit_paddings = explicit_paddings;
    arguments.padding = padding;
    arguments.layout = layout;
    arguments.dtype = dtype;
    return MakeProblem(arguments, problem);
  }
};

}  // namespace dgrad

#endif  // DGRAD_TESTS_UNIT_PROBLEM_CALL_H_
