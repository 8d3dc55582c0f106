// Problem: the operation with every size resolved. A plain struct; only MakeProblem (arguments.h)
// and ParseProblem (problem_string.h) create one, so whoever holds a Problem may multiply its
// sizes: all products below fit int64.
#ifndef DGRAD_PROBLEM_PROBLEM_H_
#define DGRAD_PROBLEM_PROBLEM_H_

#include <cstdint>

#include "src/base/dtype.h"

namespace dgrad {

enum class Layout : int32_t { kNhwc = 0, kNchw = 1 };

// One spatial axis. `in` is the axis of in_backprop, `out` of out_backprop:
// in index = out index * stride + tap * dilation - pad_before.
struct Axis {
  int64_t in = 0;
  int64_t out = 0;
  int64_t taps = 0;  // filter size
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad_before = 0;
  int64_t pad_after = 0;

  bool operator==(const Axis&) const = default;
};

struct Problem {
  int64_t batch = 0;
  Axis rows;
  Axis columns;
  int64_t in_channels = 0;   // C of in_backprop
  int64_t out_channels = 0;  // OC of out_backprop
  int64_t groups = 1;
  Layout layout = Layout::kNhwc;
  DType dtype = DType::kF32;

  bool operator==(const Problem&) const = default;

  // Channels of one group; what filter_shape[2] is.
  int64_t group_in_channels() const { return in_channels / groups; }
  int64_t group_out_channels() const { return out_channels / groups; }

  int64_t in_backprop_elements() const { return batch * rows.in * columns.in * in_channels; }
  int64_t out_backprop_elements() const { return batch * rows.out * columns.out * out_channels; }
  int64_t filter_elements() const {
    return rows.taps * columns.taps * group_in_channels() * out_channels;
  }
  int64_t in_backprop_bytes() const { return in_backprop_elements() * SizeOf(dtype); }
  int64_t out_backprop_bytes() const { return out_backprop_elements() * SizeOf(dtype); }
  int64_t filter_bytes() const { return filter_elements() * SizeOf(dtype); }

  // Multiply-adds of the definition, taps clipped by the border included.
  double multiply_adds() const {
    return static_cast<double>(out_backprop_elements()) * static_cast<double>(rows.taps) *
           static_cast<double>(columns.taps) * static_cast<double>(group_in_channels());
  }
};

}  // namespace dgrad

#endif  // DGRAD_PROBLEM_PROBLEM_H_
