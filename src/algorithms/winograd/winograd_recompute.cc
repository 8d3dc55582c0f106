#include "src/algorithms/winograd/winograd_recompute.h"

#include <algorithm>

#include "src/algorithms/phases.h"
#include "src/algorithms/steps.h"

namespace dgrad::winograd {

template <typename S, typename T>
void DirectSums<S, T>::Compute(const RunOutputs<T>& outputs, Block block, int64_t channels,
                               const Scratch<T>& scratch) const {
  const TileRun& run = outputs.run;
  for (int64_t tile = 0; tile < run.count; ++tile) {
    input_.LoadWindow(run, tile, scratch);
    for (int64_t i = 0; i < run.row.outputs * plan_.rows.phases(); ++i) {
      for (int64_t j = 0; j < run.column.outputs * plan_.columns.phases(); ++j) {
        const int64_t row_phase = i % plan_.rows.phases(), k = i / plan_.rows.phases();
        const int64_t column_phase = j % plan_.columns.phases(), l = j / plan_.columns.phases();
        T* const to = outputs.At(k, row_phase, tile, l, column_phase);
        if (to == nullptr) continue;
        const Pixel pixel = {tile, outputs.Row(k, row_phase), outputs.Column(tile, l, column_phase),
                             row_phase, column_phase};
        SumPixel(run, pixel, block, channels, scratch, to);
      }
    }
  }
}

template <typename S, typename T>
void DirectSums<S, T>::SumPixel(const TileRun& run, const Pixel& at, Block block, int64_t channels,
                                const Scratch<T>& scratch, T* to) const {
  const direct::DirectPlan& direct = *plan_.fallback;
  const int64_t a = plan_.row_taps[at.row_phase].phase;
  const int64_t b = plan_.column_taps[at.column_phase].phase;
  Segment rows, columns;
  if (a >= 0 && b >= 0) {
    const int64_t j = at.row / p_.rows.stride, l = at.column / p_.columns.stride;
    rows = SegmentAt(direct.row_phases[a], p_.rows.out, j, j + 1);
    columns = SegmentAt(direct.column_groups[b].phase, p_.columns.out, l, l + 1);
  }
  if (rows.empty() || columns.empty()) {
    std::fill(to, to + channels, T{});
    return;
  }
  const Phase& row_taps = direct.row_phases[a];
  const Phase& column_taps = direct.column_groups[b].phase;
  const int64_t pixel = p_.out_channels;
  const int64_t line = plan_.columns.window() * pixel;
  // The first tap's pixel in the window.
  const int64_t i =
      (rows.begin - row_taps.shift(rows.first_tap) - run.row.in_begin) / plan_.rows.in_step();
  const int64_t j = (columns.begin - column_taps.shift(columns.first_tap) - run.column.in_begin) /
                        plan_.columns.in_step() -
                    at.tile * run.column.outputs;
  StepGeometry geometry;
  geometry.terms = p_.out_channels;
  geometry.chunks = direct.term_chunks;
  geometry.a_row_tap = -line;
  geometry.a_column_tap = -pixel;
  geometry.phase_row_taps = row_taps.taps;
  geometry.phase_column_taps = column_taps.taps;
  geometry.first_row_tap = rows.first_tap;
  geometry.first_column_tap = columns.first_tap;
  geometry.row_taps = rows.last_tap - rows.first_tap;
  geometry.column_taps = columns.last_tap - columns.first_tap;
  StepWriter writer(geometry);
  const int64_t offset = 0;
  kernels::GemmCall<T> call{};
  call.a = scratch.window + i * line + j * pixel;
  call.a_offsets = &offset;
  call.b = filter_.TapsOf(block, a, b, scratch.filter);
  call.out = to;
  call.out_offsets = &offset;
  call.steps = scratch.steps;
  call.columns = channels;
  while (!writer.done()) {
    int64_t b_rows = 0;
    call.step_count = writer.Write(INT64_MAX, scratch.steps, &b_rows);
    gemm_.kernels[block.count][1](call);
    call.accumulate = true;
  }
}

template class DirectSums<float, float>;
template class DirectSums<double, double>;
template class DirectSums<Float16, float>;
template class DirectSums<BFloat16, float>;

}  // namespace dgrad::winograd
