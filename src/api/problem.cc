#include <cstdint>
#include <memory>
#include <span>

#include "src/api/checks.h"
#include "src/api/convert.h"
#include "src/api/error.h"
#include "src/api/handles.h"
#include "src/api/structs.h"
#include "src/base/text.h"
#include "src/problem/arguments.h"
#include "src/problem/problem_string.h"

namespace dgrad {
namespace {

static_assert(static_cast<int32_t>(DType::kF16) == DGRAD_FLOAT16);
static_assert(static_cast<int32_t>(DType::kBF16) == DGRAD_BFLOAT16);
static_assert(static_cast<int32_t>(DType::kF32) == DGRAD_FLOAT32);
static_assert(static_cast<int32_t>(DType::kF64) == DGRAD_FLOAT64);
static_assert(static_cast<int32_t>(DType::kI32) == DGRAD_INT32);
static_assert(static_cast<int32_t>(Layout::kNhwc) == DGRAD_NHWC);
static_assert(static_cast<int32_t>(Layout::kNchw) == DGRAD_NCHW);
static_assert(static_cast<int32_t>(Padding::kValid) == DGRAD_VALID);
static_assert(static_cast<int32_t>(Padding::kSame) == DGRAD_SAME);
static_assert(static_cast<int32_t>(Padding::kExplicit) == DGRAD_EXPLICIT);

// More elements than any list of this operation has: such a count is not handed on, since messages
// show the elements.
constexpr uint64_t kMaxListCount = 64;

Status ReadList(const char* name, const char* count_name, const int64_t* data, uint64_t count,
                std::span<const int64_t>* list) {
  if (data == nullptr && count > 0) {
    return InvalidArgument(Concat(name, " is null, but ", count_name, " is ", count));
  }
  if (count > kMaxListCount) {
    return InvalidArgument(
        Concat(count_name, " is ", count, "; no list of this operation has more than 8 elements"));
  }
  if (reinterpret_cast<uintptr_t>(data) % alignof(int64_t) != 0) {
    return InvalidArgument(Concat(name, " is not aligned for 64-bit integers"));
  }
  *list = std::span<const int64_t>(data, count);
  return Status();
}

void CopyShape(const int64_t (&shape)[4], int64_t (&out)[4]) {
  for (int i = 0; i < 4; ++i) out[i] = shape[i];
}

// An activation's sizes in the order of the problem's layout.
void CopyShape(const Problem& problem, int64_t height, int64_t width, int64_t channels,
               int64_t (&out)[4]) {
  if (problem.layout == Layout::kNchw) {
    CopyShape({problem.batch, channels, height, width}, out);
  } else {
    CopyShape({problem.batch, height, width, channels}, out);
  }
}

dgrad_problem_info Describe(const Problem& problem) {
  dgrad_problem_info info = {};
  const Axis& rows = problem.rows;
  const Axis& columns = problem.columns;
  CopyShape(problem, rows.in, columns.in, problem.in_channels, info.in_backprop_shape);
  CopyShape(problem, rows.out, columns.out, problem.out_channels, info.out_backprop_shape);
  CopyShape({rows.taps, columns.taps, problem.group_in_channels(), problem.out_channels},
            info.filter_shape);
  info.strides[0] = rows.stride;
  info.strides[1] = columns.stride;
  info.dilations[0] = rows.dilation;
  info.dilations[1] = columns.dilation;
  CopyShape({rows.pad_before, rows.pad_after, columns.pad_before, columns.pad_after},
            info.paddings);
  info.groups = problem.groups;
  info.in_backprop_bytes = static_cast<uint64_t>(problem.in_backprop_bytes());
  info.out_backprop_bytes = static_cast<uint64_t>(problem.out_backprop_bytes());
  info.filter_bytes = static_cast<uint64_t>(problem.filter_bytes());
  info.multiply_adds = problem.multiply_adds();
  info.data_format = static_cast<dgrad_data_format>(problem.layout);
  info.dtype = static_cast<dgrad_dtype>(problem.dtype);
  return info;
}

Status NewHandle(const Problem& problem, dgrad_problem** out) {
  auto handle = std::make_unique<dgrad_problem>();
  handle->problem = problem;
  *out = handle.release();
  return Status();
}

}  // namespace

Status ToProblem(const dgrad_arguments* arguments, Problem* problem) {
  dgrad_arguments given;
  DGRAD_RETURN_IF_ERROR(ReadStruct("arguments", arguments, &given));
  if (given.reserved != 0) {
    return InvalidArgument(Concat("arguments->reserved is ", given.reserved, "; it must be 0"));
  }
  Arguments inner;
  DGRAD_RETURN_IF_ERROR(ReadList("input_sizes", "input_sizes_count", given.input_sizes,
                                 given.input_sizes_count, &inner.input_sizes));
  DGRAD_RETURN_IF_ERROR(ReadList("filter_shape", "filter_rank", given.filter_shape,
                                 given.filter_rank, &inner.filter_shape));
  std::span<const int64_t> list;
  DGRAD_RETURN_IF_ERROR(ReadList("out_backprop_shape", "out_backprop_rank",
                                 given.out_backprop_shape, given.out_backprop_rank, &list));
  if (given.out_backprop_shape != nullptr) inner.out_backprop_shape = list;
  DGRAD_RETURN_IF_ERROR(
      ReadList("strides", "strides_count", given.strides, given.strides_count, &inner.strides));
  DGRAD_RETURN_IF_ERROR(
      ReadList("dilations", "dilations_count", given.dilations, given.dilations_count, &list));
  if (given.dilations != nullptr) inner.dilations = list;
  DGRAD_RETURN_IF_ERROR(ReadList("explicit_paddings", "explicit_paddings_count",
                                 given.explicit_paddings, given.explicit_paddings_count,
                                 &inner.explicit_paddings));
  inner.padding = static_cast<Padding>(given.padding);
  inner.layout = static_cast<Layout>(given.data_format);
  inner.dtype = static_cast<DType>(given.dtype);
  return MakeProblem(inner, problem);
}

}  // namespace dgrad

dgrad_status dgrad_problem_create(const dgrad_arguments* arguments, dgrad_problem** problem) {
  return dgrad::Guard([&]() -> dgrad::Status {
    DGRAD_RETURN_IF_ERROR(dgrad::CheckOutput("problem", problem));
    dgrad::Problem made;
    DGRAD_RETURN_IF_ERROR(dgrad::ToProblem(arguments, &made));
    return dgrad::NewHandle(made, problem);
  });
}

dgrad_status dgrad_problem_from_string(const char* text, dgrad_problem** problem) {
  return dgrad::Guard([&]() -> dgrad::Status {
    DGRAD_RETURN_IF_ERROR(dgrad::CheckOutput("problem", problem));
    if (text == nullptr) return dgrad::InvalidArgument("text is null; a problem string is needed");
    dgrad::Problem made;
    DGRAD_RETURN_IF_ERROR(dgrad::ParseProblem(text, &made));
    return dgrad::NewHandle(made, problem);
  });
}

dgrad_status dgrad_problem_to_string(const dgrad_problem* problem, char* buffer,
                                     uint64_t buffer_bytes, uint64_t* size) {
  return dgrad::Guard([&]() -> dgrad::Status {
    DGRAD_RETURN_IF_ERROR(dgrad::CheckHandle("problem", problem));
    return dgrad::WriteText(dgrad::ToString(problem->problem), buffer, buffer_bytes, size);
  });
}

dgrad_status dgrad_problem_get_info(const dgrad_problem* problem, dgrad_problem_info* info) {
  return dgrad::Guard([&]() -> dgrad::Status {
    DGRAD_RETURN_IF_ERROR(dgrad::CheckHandle("problem", problem));
    return dgrad::WriteStruct("info", dgrad::Describe(problem->problem), info);
  });
}

void dgrad_problem_destroy(dgrad_problem* problem) { dgrad::DestroyHandle("problem", problem); }
