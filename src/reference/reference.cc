#include "src/reference/reference.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "src/base/dtype.h"
#include "src/base/half.h"

namespace dgrad {
namespace {

// How each type is summed: double rounded once, int32 modulo 2^32 in uint32_t.
template <typename T>
struct Sum {
  using Type = double;
};
template <>
struct Sum<int32_t> {
  using Type = uint32_t;
};

double Load(Float16 value) { return static_cast<double>(ToFloat(value)); }
double Load(BFloat16 value) { return static_cast<double>(ToFloat(value)); }
double Load(float value) { return static_cast<double>(value); }
double Load(double value) { return value; }
uint32_t Load(int32_t value) { return static_cast<uint32_t>(value); }

void Store(double sum, Float16* to) { *to = ToFloat16(sum); }
void Store(double sum, BFloat16* to) { *to = ToBFloat16(sum); }
void Store(double sum, float* to) { *to = static_cast<float>(sum); }
void Store(double sum, double* to) { *to = sum; }
void Store(uint32_t sum, int32_t* to) { *to = static_cast<int32_t>(sum); }

// Steps between neighbours along each dimension of an activation, in elements.
struct Steps {
  int64_t batch, row, column, channel;
};
Steps StepsOf(Layout layout, int64_t height, int64_t width, int64_t channels) {
  if (layout == Layout::kNhwc) return {height * width * channels, width * channels, channels, 1};
  return {height * width * channels, width, 1, height * width};
}

// A tap that lands on a position of in_backprop, and the position of out_backprop it comes from.
struct Landing {
  int64_t tap;
  int64_t out;
};

// Fills *landings with all solutions of out * stride + tap * dilation - pad_before = in, taps
// rising.
void FindLandings(const Axis& axis, int64_t in, std::vector<Landing>* landings) {
  landings->clear();
  const int64_t position = in + axis.pad_before;
  const int64_t last = std::min(axis.taps - 1, position / axis.dilation);
  const int64_t beyond = position - (axis.out - 1) * axis.stride;  // > 0: below it out is too large
  const int64_t first = beyond > 0 ? (beyond - 1) / axis.dilation + 1 : 0;
  // Solutions repeat every stride / gcd taps: one step at a time to the first, then in strides.
  int64_t step = 1;
  for (int64_t tap = first; tap <= last; tap += step) {
    const int64_t distance = position - tap * axis.dilation;
    if (distance % axis.stride != 0) continue;
    landings->push_back({tap, distance / axis.stride});
    step = axis.stride / std::gcd(axis.stride, axis.dilation);
    if (step > last - tap) break;
  }
}

// Calls add(sum, filter element, out_backprop element) for every real product of each element of
// in_backprop, and store(index, sum) once for every element.
template <typename T, typename SumType, typename Add, typename StoreSum>
void ForEachElement(const Problem& problem, const T* filter, const T* out_backprop, Add add,
                    StoreSum store) {
  const Axis& rows = problem.rows;
  const Axis& columns = problem.columns;
  // With an empty operand no sum has a term; the sizes that are not 0 may be huge.
  if (problem.out_backprop_elements() == 0 || problem.filter_elements() == 0) {
    for (int64_t i = 0; i < problem.in_backprop_elements(); ++i) store(i, SumType{});
    return;
  }
  const int64_t group_in = problem.group_in_channels();
  const int64_t group_out = problem.group_out_channels();
  const Steps in_steps = StepsOf(problem.layout, rows.in, columns.in, problem.in_channels);
  const Steps out_steps = StepsOf(problem.layout, rows.out, columns.out, problem.out_channels);
  std::vector<Landing> row_landings;
  std::vector<Landing> column_landings;

  // All sums of one pixel of in_backprop.
  const auto pixel = [&](int64_t n, int64_t h, int64_t w) {
    for (int64_t c = 0; c < problem.in_channels; ++c) {
      const int64_t first_oc = c / group_in * group_out;
      SumType sum{};
      for (const Landing& row : row_landings) {
        for (const Landing& column : column_landings) {
          const T* filter_row =
              filter + ((row.tap * columns.taps + column.tap) * group_in + c % group_in) *
                           problem.out_channels;
          const T* out_pixel = out_backprop + n * out_steps.batch + row.out * out_steps.row +
                               column.out * out_steps.column;
          for (int64_t oc = first_oc; oc < first_oc + group_out; ++oc) {
            add(sum, filter_row[oc], out_pixel[oc * out_steps.channel]);
          }
        }
      }
      store(n * in_steps.batch + h * in_steps.row + w * in_steps.column + c * in_steps.channel,
            sum);
    }
  };
  for (int64_t n = 0; n < problem.batch; ++n) {
    for (int64_t h = 0; h < rows.in; ++h) {
      FindLandings(rows, h, &row_landings);
      for (int64_t w = 0; w < columns.in; ++w) {
        FindLandings(columns, w, &column_landings);
        pixel(n, h, w);
      }
    }
  }
}

template <typename T>
void ReferenceOf(const Problem& problem, const void* filter, const void* out_backprop,
                 void* in_backprop) {
  using SumType = typename Sum<T>::Type;
  T* result = static_cast<T*>(in_backprop);
  ForEachElement<T, SumType>(
      problem, static_cast<const T*>(filter), static_cast<const T*>(out_backprop),
      [](SumType& sum, T a, T b) { sum += Load(a) * Load(b); },
      [result](int64_t index, SumType sum) { Store(sum, result + index); });
}

template <typename T>
void ScaleOf(const Problem& problem, const void* filter, const void* out_backprop, double* scale) {
  ForEachElement<T, double>(
      problem, static_cast<const T*>(filter), static_cast<const T*>(out_backprop),
      [](double& sum, T a, T b) { sum += std::abs(Load(a)) * std::abs(Load(b)); },
      [scale](int64_t index, double sum) { scale[index] = sum; });
}

}  // namespace

void Reference(const Problem& problem, const void* filter, const void* out_backprop,
               void* in_backprop) {
  switch (problem.dtype) {
    case DType::kF16:
      return ReferenceOf<Float16>(problem, filter, out_backprop, in_backprop);
    case DType::kBF16:
      return ReferenceOf<BFloat16>(problem, filter, out_backprop, in_backprop);
    case DType::kF32:
      return ReferenceOf<float>(problem, filter, out_backprop, in_backprop);
    case DType::kF64:
      return ReferenceOf<double>(problem, filter, out_backprop, in_backprop);
    case DType::kI32:
      return ReferenceOf<int32_t>(problem, filter, out_backprop, in_backprop);
  }
}

void ReferenceScale(const Problem& problem, const void* filter, const void* out_backprop,
                    double* scale) {
  switch (problem.dtype) {
    case DType::kF16:
      return ScaleOf<Float16>(problem, filter, out_backprop, scale);
    case DType::kBF16:
      return ScaleOf<BFloat16>(problem, filter, out_backprop, scale);
    case DType::kF32:
      return ScaleOf<float>(problem, filter, out_backprop, scale);
    case DType::kF64:
      return ScaleOf<double>(problem, filter, out_backprop, scale);
    case DType::kI32:
      return;  // by contract not for int32
  }
}

}  // namespace dgrad
