// VALID, SAME and EXPLICIT padding of one spatial axis.
#ifndef DGRAD_PROBLEM_PADDING_H_
#define DGRAD_PROBLEM_PADDING_H_

#include "src/base/status.h"
#include "src/problem/arguments.h"
#include "src/problem/problem.h"

namespace dgrad {

// Sets axis->out and the pads from in, taps (both >= 0), stride and dilation (both > 0) by
// TensorFlow's rules, where reach = (taps - 1) * dilation + 1:
//
//   kValid     out = (in - reach + stride) / stride                              no pads
//   kSame      out = ceil(in / stride)           total pad = max(0, (out - 1) * stride + reach -
//   in),
//                                                half of it before, an odd one more after
//   kExplicit  out = (in + pad_before + pad_after - reach + stride) / stride     pads (>= 0) as set
//
// "/" truncates toward zero, so a filter that is too large by less than a stride gives out = 0.
// InvalidArgument when out is negative or a number on the way leaves int64. `name` ("height" or
// "width") is for the message. On failure *axis is untouched.
//
// Afterwards no position out index * stride + tap * dilation of the axis leaves int64.
Status ResolvePadding(Padding padding, const char* name, Axis* axis);

}  // namespace dgrad

#endif  // DGRAD_PROBLEM_PADDING_H_
