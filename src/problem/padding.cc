#include "src/problem/padding.h"

#include <algorithm>

#include "src/base/checked.h"
#include "src/base/text.h"

namespace dgrad {
namespace {

std::string Describe(const Axis& axis) {
  return Concat("input size ", axis.in, ", filter size ", axis.taps, ", stride ", axis.stride,
                ", dilation ", axis.dilation);
}

std::string DescribePads(const Axis& axis) {
  return Concat(", explicit_paddings ", axis.pad_before, " before and ", axis.pad_after, " after");
}

// Cells between the first and the last tap, both included. 1 - dilation for a filter without taps.
bool Reach(const Axis& axis, int64_t* reach) {
  return CheckedMul(axis.taps - 1, axis.dilation, reach) && CheckedAdd(*reach, 1, reach);
}

bool ResolveSame(Axis* axis) {
  int64_t end = 0;  // one past the last cell under the last window, pads before not counted
  axis->out = axis->in / axis->stride + (axis->in % axis->stride != 0 ? 1 : 0);
  if (!Reach(*axis, &end) || !CheckedAdd((axis->out - 1) * axis->stride, end, &end)) return false;
  const int64_t total = end > axis->in ? end - axis->in : 0;
  axis->pad_before = total / 2;
  axis->pad_after = total - axis->pad_before;
  return true;
}

// kValid is kExplicit with pads 0.
bool ResolveGivenPads(Axis* axis) {
  int64_t reach = 0;
  int64_t slack = 0;  // steps the window can move
  if (!Reach(*axis, &reach) || !CheckedAdd(axis->in, axis->pad_before, &slack) ||
      !CheckedAdd(slack, axis->pad_after, &slack) || !CheckedSub(slack, reach, &slack)) {
    return false;
  }
  // (slack + stride) / stride, written so that a huge stride does not overflow.
  if (slack < 0) {
    axis->out = (slack + axis->stride) / axis->stride;
    return true;
  }
  return CheckedAdd(slack / axis->stride, 1, &axis->out);
}

}  // namespace

Status ResolvePadding(Padding padding, const char* name, Axis* axis) {
  Axis resolved = *axis;
  if (padding != Padding::kExplicit) resolved.pad_before = resolved.pad_after = 0;
  const bool fits =
      padding == Padding::kSame ? ResolveSame(&resolved) : ResolveGivenPads(&resolved);
  const std::string pads = padding == Padding::kExplicit ? DescribePads(*axis) : std::string();
  if (!fits) {
    return InvalidArgument(Concat("the ", name, " of out_backprop_shape can't be computed: ",
                                  Describe(*axis), pads, " leave the range of 64-bit integers"));
  }
  if (resolved.out < 0) {
    return InvalidArgument(Concat("the ", name, " of input_sizes is too small for the filter: ",
                                  Describe(*axis), pads, " give ", resolved.out, " as the ", name,
                                  " of out_backprop_shape, which must be at least 0"));
  }
  *axis = resolved;
  return {};
}

}  // namespace dgrad
