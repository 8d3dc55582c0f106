#include "src/problem/arguments.h"

#include <array>
#include <string>

#include "src/base/checked.h"
#include "src/base/text.h"
#include "src/problem/padding.h"

namespace dgrad {
namespace {

using Shape = std::array<int64_t, 4>;
using List = std::span<const int64_t>;

constexpr int kBatch = 0;

// Where data_format puts the dimensions of the activations.
struct Positions {
  int height;
  int width;
  int channels;
};
constexpr Positions PositionsOf(Layout layout) {
  return layout == Layout::kNhwc ? Positions{1, 2, 3} : Positions{2, 3, 1};
}
constexpr const char* FormatName(Layout layout) {
  return layout == Layout::kNhwc ? "NHWC" : "NCHW";
}

Status CheckEnums(const Arguments& arguments) {
  const auto padding = static_cast<int32_t>(arguments.padding);
  if (padding < 0 || padding > 2) {
    return InvalidArgument(
        Concat("padding must be 0 (VALID), 1 (SAME) or 2 (EXPLICIT), got ", padding));
  }
  const auto layout = static_cast<int32_t>(arguments.layout);
  if (layout < 0 || layout > 1) {
    return InvalidArgument(Concat("data_format must be 0 (NHWC) or 1 (NCHW), got ", layout));
  }
  if (SizeOf(arguments.dtype) == 0) {
    return InvalidArgument(Concat(
        "dtype must be 1 (float16), 2 (bfloat16), 3 (float32), 4 (float64) or 5 (int32), got ",
        static_cast<int32_t>(arguments.dtype)));
  }
  return {};
}

// Strides and dilations obey the same rules.
Status CheckSteps(const char* name, List steps, Layout layout) {
  if (steps.size() != 4) {
    return InvalidArgument(Concat(name, " must have 4 elements in ", FormatName(layout),
                                  " order, got ", steps.size(), ": ", steps));
  }
  const Positions at = PositionsOf(layout);
  if (steps[kBatch] != 1 || steps[at.channels] != 1) {
    return Unimplemented(Concat(name, " of batch and channels must be 1, got ", steps, " in ",
                                FormatName(layout), " order"));
  }
  if (steps[at.height] <= 0 || steps[at.width] <= 0) {
    return InvalidArgument(Concat(name, " of height and width must be at least 1, got ", steps,
                                  " in ", FormatName(layout), " order"));
  }
  return {};
}

Status CheckPaddings(const Arguments& arguments) {
  const List pads = arguments.explicit_paddings;
  if (arguments.padding != Padding::kExplicit) {
    if (pads.empty()) return {};
    return InvalidArgument(
        Concat("explicit_paddings must be empty unless padding is EXPLICIT, got ", pads));
  }
  if (pads.size() != 8) {
    return InvalidArgument(
        Concat("explicit_paddings must have 8 elements, before and after for each dimension in ",
               FormatName(arguments.layout), " order, got ", pads.size(), ": ", pads));
  }
  for (const int64_t pad : pads) {
    if (pad < 0) {
      return InvalidArgument(
          Concat("explicit_paddings must be at least 0, got ", pad, " in ", pads));
    }
  }
  const int channels = PositionsOf(arguments.layout).channels;
  for (const int dimension : {kBatch, channels}) {
    if (pads[2 * dimension] != 0 || pads[2 * dimension + 1] != 0) {
      return InvalidArgument(Concat("explicit_paddings of batch and channels must be 0, got ", pads,
                                    " in ", FormatName(arguments.layout), " order"));
    }
  }
  return {};
}

Status CheckNotNegative(const char* name, List sizes) {
  for (const int64_t size : sizes) {
    if (size < 0) {
      return InvalidArgument(Concat(name, " must not have negative sizes, got ", sizes));
    }
  }
  return {};
}

Status CheckRank(const char* name, const char* meaning, List shape) {
  if (shape.size() != 4) {
    return InvalidArgument(
        Concat(name, " must have 4 dimensions, ", meaning, ", got ", shape.size(), ": ", shape));
  }
  return CheckNotNegative(name, shape);
}

// The bytes of a tensor, and those of any part of it, must fit int64. Sizes of 0 count as 1, so
// that partial products of an empty tensor's sizes are safe as well.
Status CheckBytes(const char* name, List shape, DType dtype) {
  int64_t bytes = SizeOf(dtype);
  for (const int64_t size : shape) {
    if (size != 0 && !CheckedMul(bytes, size, &bytes)) {
      return InvalidArgument(
          Concat(name, " is too large: ", shape, " elements of ", SizeOf(dtype),
                 " bytes (sizes of 0 counted as 1) are more than 2^63 - 1 bytes"));
    }
  }
  return {};
}

Status CheckInputSizes(const Arguments& arguments) {
  const List sizes = arguments.input_sizes;
  if (sizes.size() != 2 && sizes.size() != 4) {
    return InvalidArgument(
        Concat("input_sizes must have 4 elements in ", FormatName(arguments.layout),
               " order, or 2: [height, width], got ", sizes.size(), ": ", sizes));
  }
  if (sizes.size() == 2 && !arguments.out_backprop_shape) {
    return InvalidArgument(Concat(
        "input_sizes must have 4 elements when out_backprop_shape is not given, got 2: ", sizes));
  }
  DGRAD_RETURN_IF_ERROR(CheckNotNegative("input_sizes", sizes));
  // With 2 elements the product is known only after the filter's rank.
  return sizes.size() == 4 ? CheckBytes("input_sizes", sizes, arguments.dtype) : Status();
}

// The shape of in_backprop. Ranks are checked already.
Shape InBackpropShape(const Arguments& arguments) {
  const List sizes = arguments.input_sizes;
  if (sizes.size() == 4) return {sizes[0], sizes[1], sizes[2], sizes[3]};
  const Positions at = PositionsOf(arguments.layout);
  Shape shape;
  shape[kBatch] = (*arguments.out_backprop_shape)[kBatch];
  shape[at.height] = sizes[0];
  shape[at.width] = sizes[1];
  shape[at.channels] = arguments.filter_shape[2];
  return shape;
}

// Everything about the three shapes but how their heights and widths fit.
Status CheckShapes(const Arguments& arguments, Shape* in_backprop_shape) {
  constexpr const char* kFilterMeaning = "[rows, columns, in channels / groups, out channels]";
  const Positions at = PositionsOf(arguments.layout);
  const List filter = arguments.filter_shape;
  const auto& out_backprop = arguments.out_backprop_shape;
  if (out_backprop) {
    DGRAD_RETURN_IF_ERROR(
        CheckRank("out_backprop_shape", FormatName(arguments.layout), *out_backprop));
  }
  DGRAD_RETURN_IF_ERROR(CheckInputSizes(arguments));
  DGRAD_RETURN_IF_ERROR(CheckRank("filter_shape", kFilterMeaning, filter));
  const Shape in_backprop = InBackpropShape(arguments);
  if (arguments.input_sizes.size() == 2) {
    DGRAD_RETURN_IF_ERROR(CheckBytes(
        "input_sizes (batch and channels taken from out_backprop_shape and filter_shape)",
        in_backprop, arguments.dtype));
  }
  DGRAD_RETURN_IF_ERROR(CheckBytes("filter_shape", filter, arguments.dtype));
  if (out_backprop) {
    DGRAD_RETURN_IF_ERROR(CheckBytes("out_backprop_shape", *out_backprop, arguments.dtype));
    if ((*out_backprop)[kBatch] != in_backprop[kBatch]) {
      return InvalidArgument(
          Concat("input_sizes and out_backprop_shape must have the same batch, got ",
                 in_backprop[kBatch], " and ", (*out_backprop)[kBatch]));
    }
  }
  const int64_t in_channels = in_backprop[at.channels];
  // No channels on both sides: one empty group, an empty result.
  const bool no_channels = filter[2] == 0 && in_channels == 0;
  if (filter[2] == 0 && !no_channels) {
    return InvalidArgument(Concat(
        "filter_shape[2], the in channels of a group, must be at least 1, got 0 in ", filter));
  }
  if (!no_channels && (in_channels == 0 || in_channels % filter[2] != 0)) {
    return InvalidArgument(Concat("input_sizes must have a positive multiple of filter_shape[2] = ",
                                  filter[2], " channels, got ", in_channels));
  }
  if (out_backprop && (*out_backprop)[at.channels] != filter[3]) {
    return InvalidArgument(Concat("out_backprop_shape must have filter_shape[3] = ", filter[3],
                                  " channels, got ", (*out_backprop)[at.channels]));
  }
  *in_backprop_shape = in_backprop;
  return {};
}

// Resolves one axis at position `at` of data_format and `filter_at` of the filter.
Status ResolveAxis(const Arguments& arguments, const Shape& in_backprop, int at, int filter_at,
                   const char* name, Axis* result) {
  Axis axis;
  axis.in = in_backprop[at];
  axis.taps = arguments.filter_shape[filter_at];
  axis.stride = arguments.strides[at];
  if (arguments.dilations) axis.dilation = (*arguments.dilations)[at];
  if (arguments.padding == Padding::kExplicit) {
    axis.pad_before = arguments.explicit_paddings[2 * at];
    axis.pad_after = arguments.explicit_paddings[2 * at + 1];
  }
  DGRAD_RETURN_IF_ERROR(ResolvePadding(arguments.padding, name, &axis));
  if (arguments.out_backprop_shape && (*arguments.out_backprop_shape)[at] != axis.out) {
    return InvalidArgument(Concat("the ", name, " of out_backprop_shape must be ", axis.out,
                                  ", got ", (*arguments.out_backprop_shape)[at], " (input size ",
                                  axis.in, ", filter size ", axis.taps, ", stride ", axis.stride,
                                  ", dilation ", axis.dilation, ", padding ", axis.pad_before,
                                  " before and ", axis.pad_after, " after)"));
  }
  *result = axis;
  return {};
}

}  // namespace

Status MakeProblem(const Arguments& arguments, Problem* problem) {
  DGRAD_RETURN_IF_ERROR(CheckEnums(arguments));
  DGRAD_RETURN_IF_ERROR(CheckSteps("strides", arguments.strides, arguments.layout));
  if (arguments.dilations) {
    DGRAD_RETURN_IF_ERROR(CheckSteps("dilations", *arguments.dilations, arguments.layout));
  }
  DGRAD_RETURN_IF_ERROR(CheckPaddings(arguments));
  Shape in_backprop;
  DGRAD_RETURN_IF_ERROR(CheckShapes(arguments, &in_backprop));

  const Positions at = PositionsOf(arguments.layout);
  Problem result;
  result.batch = in_backprop[kBatch];
  result.in_channels = in_backprop[at.channels];
  result.out_channels = arguments.filter_shape[3];
  result.groups = result.in_channels == 0 ? 1 : result.in_channels / arguments.filter_shape[2];
  result.layout = arguments.layout;
  result.dtype = arguments.dtype;
  DGRAD_RETURN_IF_ERROR(ResolveAxis(arguments, in_backprop, at.height, 0, "height", &result.rows));
  DGRAD_RETURN_IF_ERROR(ResolveAxis(arguments, in_backprop, at.width, 1, "width", &result.columns));
  // Without out channels every sum is empty, whatever the number of groups.
  if (result.out_channels % result.groups != 0) {
    return InvalidArgument(Concat(
        "filter_shape[3], the out channels, must be a multiple of the number of groups ",
        result.groups, " (", result.in_channels, " channels of input_sizes / filter_shape[2] = ",
        arguments.filter_shape[2], "), got ", result.out_channels));
  }
  if (!arguments.out_backprop_shape) {
    Shape computed;
    computed[kBatch] = result.batch;
    computed[at.height] = result.rows.out;
    computed[at.width] = result.columns.out;
    computed[at.channels] = result.out_channels;
    DGRAD_RETURN_IF_ERROR(
        CheckBytes("out_backprop_shape as computed from input_sizes", computed, arguments.dtype));
  }
  *problem = result;
  return {};
}

}  // namespace dgrad
