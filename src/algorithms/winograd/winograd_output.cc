#include "src/algorithms/winograd/winograd_output.h"

#include <algorithm>
#include <type_traits>

namespace dgrad::winograd {

template <typename S, typename T>
RunOutputs<T> OutputTransform<S, T>::OutputsOf(const TileRun& run, int64_t first_channel,
                                               int64_t channels, const Scratch<T>& scratch) const {
  if constexpr (std::is_same_v<S, T>) {
    if (!plan_.stages_out) {
      const int64_t image = p_.rows.in * p_.columns.in * p_.in_channels;
      return {plan_, run, result_ + run.image * image + first_channel,
              p_.columns.in * p_.in_channels, p_.in_channels};
    }
  }
  // Steps between outputs are left out: a staged run is dense.
  const int64_t columns = run.count * run.column.outputs * plan_.columns.phases();
  return {plan_, run, scratch.staging, columns * channels, channels};
}

template <typename S, typename T>
bool OutputTransform<S, T>::Transform(const RunOutputs<T>& outputs, Block block, int64_t channels,
                                      const Scratch<T>& scratch) const {
  bool finite = true;
  for (int64_t phase = 0; phase < plan_.phases(); ++phase) {
    finite = TransformPhase(outputs, block, phase, channels, scratch) && finite;
  }
  return finite;
}

// One phase's outputs of a run: columns of points to rows of pixels, then across.
template <typename S, typename T>
bool OutputTransform<S, T>::TransformPhase(const RunOutputs<T>& outputs, Block block, int64_t phase,
                                           int64_t channels, const Scratch<T>& scratch) const {
  const TileRun& run = outputs.run;
  const int64_t width = block.count * plan_.lanes;
  const int64_t plane = plan_.PlaneElements(width);
  const T* const m = scratch.m + phase * plan_.ProductElements(width) + run.first * width;
  const int row_points = Points(run.row), column_points = Points(run.column);
  const int64_t row_phase = phase / plan_.columns.phases();
  const int64_t column_phase = phase % plan_.columns.phases();
  T* const lines = scratch.strip;  // [output row][column point][tile][channel]
  const int64_t line = run.count * width;
  T* const trash = lines + run.row.outputs * column_points * line;
  kernels::TransformCall<T> call{};
  call.lines = run.count;
  call.channels = width;
  call.to_line = width;
  std::fill(call.from_line, call.from_line + kernels::kMaxPoints, width);
  bool finite = true;
  // With one tap along an axis its pass would only copy.
  const bool copies_rows = plan_.rows.taps() == 1;
  for (int j = 0; j < column_points && !copies_rows; ++j) {
    for (int i = 0; i < row_points; ++i) {
      call.from[i] = m + PlaneOf(plan_, run.row.point_set, i, run.column.point_set, j) * plane;
    }
    for (int k = 0; k < run.row.outputs; ++k) {
      call.to[k] = lines + (k * column_points + j) * line;
    }
    family_.output[run.row.point_set][run.row.outputs](call);
  }
  const auto kernel = family_.output[run.column.point_set][run.column.outputs];
  call.channels = channels;
  call.exact_to = true;
  call.to_line = outputs.tile_pitch();
  const bool inside =
      outputs.Column(0, 0, column_phase) >= 0 &&
      outputs.Column(run.count - 1, run.column.outputs - 1, column_phase) < p_.columns.in;
  call.stream = streams_ && inside && !plan_.stages_out;
  for (int k = 0; k < run.row.outputs; ++k) {
    const int64_t row = outputs.Row(k, row_phase);
    if (row < 0 || row >= p_.rows.in) continue;
    for (int j = 0; j < column_points; ++j) {
      call.from[j] = copies_rows
                         ? m + PlaneOf(plan_, run.row.point_set, 0, run.column.point_set, j) * plane
                         : lines + (k * column_points + j) * line;
    }
    // All tiles at once, or one at a time where the border cuts them.
    for (int64_t tile = 0; tile < run.count; tile += inside ? run.count : 1) {
      call.lines = inside ? run.count : 1;
      for (int l = 0; l < run.column.outputs; ++l) {
        T* const to = outputs.At(k, row_phase, tile, l, column_phase);
        call.to[l] = to == nullptr ? trash : to;
      }
      finite = kernel(call) && finite;
      for (int j = 0; j < column_points; ++j) call.from[j] += width;
    }
  }
  return finite;
}

// Scratch to the result, as far as it lies inside.
template <typename S, typename T>
void OutputTransform<S, T>::Finish(const RunOutputs<T>& outputs, int64_t first_channel,
                                   int64_t channels) const {
  if (!plan_.stages_out) return;
  const TileRun& run = outputs.run;
  const T* staging = outputs.base;
  const int64_t dilation = plan_.columns.in_step();
  const int64_t row_phases = plan_.rows.phases();
  const int64_t columns = run.count * run.column.outputs * plan_.columns.phases();
  for (int64_t i = 0; i < run.row.outputs * row_phases; ++i, staging += columns * channels) {
    const int64_t row = outputs.Row(i / row_phases, i % row_phases);
    if (row < 0 || row >= p_.rows.in) continue;
    const auto unstage = [&](int64_t from, int64_t begin, int64_t end) {
      mover_.UnstageRow(staging + from * channels, run.image, row, begin, end, first_channel,
                        first_channel + channels, result_);
    };
    const int64_t begin = run.column.out_begin;
    if (dilation == 1) {
      const int64_t skipped = std::max<int64_t>(0, -begin);
      const int64_t end = std::min(p_.columns.in, begin + columns);
      if (begin + skipped < end) unstage(skipped, begin + skipped, end);
      continue;
    }
    for (int64_t j = 0; j < columns; ++j) {
      const int64_t column = begin + j * dilation;
      if (column >= 0 && column < p_.columns.in) unstage(j, column, column + 1);
    }
  }
}

template class OutputTransform<float, float>;
template class OutputTransform<double, double>;
template class OutputTransform<Float16, float>;
template class OutputTransform<BFloat16, float>;

}  // namespace dgrad::winograd
