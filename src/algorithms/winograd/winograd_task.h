// What the parts of a task share: the slot's scratch, and where a run's results go.
#ifndef DGRAD_ALGORITHMS_WINOGRAD_WINOGRAD_TASK_H_
#define DGRAD_ALGORITHMS_WINOGRAD_WINOGRAD_TASK_H_

#include <cstddef>
#include <cstdint>

#include "src/algorithms/winograd/winograd_plan.h"
#include "src/kernels/gemm/gemm.h"
#include "src/kernels/winograd/points.h"

namespace dgrad::winograd {

// Parts of a slot's scratch; winograd_blocking.cc has their sizes.
template <typename T>
struct Scratch {
  Scratch(const WinogradPlan& plan, std::byte* slot)
      : v(reinterpret_cast<T*>(slot + plan.layout.v)),
        m(reinterpret_cast<T*>(slot + plan.layout.m)),
        u(reinterpret_cast<T*>(slot + plan.layout.u)),
        filter(reinterpret_cast<T*>(slot + plan.layout.filter)),
        strip(reinterpret_cast<T*>(slot + plan.layout.strip)),
        window(reinterpret_cast<T*>(slot + plan.layout.window)),
        staging(reinterpret_cast<T*>(slot + plan.layout.staging)),
        offsets(reinterpret_cast<int64_t*>(slot + plan.layout.offsets)),
        steps(reinterpret_cast<kernels::GemmStep*>(slot + plan.layout.steps)),
        runs(reinterpret_cast<TileRun*>(slot + plan.layout.runs)) {}

  T *v, *m, *u, *filter, *strip, *window, *staging;
  int64_t* offsets;
  kernels::GemmStep* steps;
  TileRun* runs;
};

inline int Points(const AxisTile& tile) { return kernels::kPointSets[tile.point_set].count; }

// The plane of point i of a set of the rows and point j of one of the columns.
inline int64_t PlaneOf(const WinogradPlan& plan, int row_set, int i, int column_set, int j) {
  return kernels::kPointSets[row_set].index[i] * plan.columns.points() +
         kernels::kPointSets[column_set].index[j];
}

// Results of a run of tiles and some channels: in place, or in scratch, where the run is dense.
template <typename T>
struct RunOutputs {
  const WinogradPlan& plan;
  const TileRun& run;
  T* base;  // in place: of the image's first pixel
  int64_t row_pitch, column_pitch;

  // Output k of a phase of the rows, output l of a phase of a tile's columns.
  int64_t Row(int64_t k, int64_t phase) const {
    return run.row.out_begin + k * plan.rows.out_step() + phase;
  }
  int64_t Column(int64_t tile, int64_t l, int64_t phase) const {
    return run.column.out_begin + (tile * run.column.outputs + l) * plan.columns.out_step() + phase;
  }
  // Null beyond the borders.
  T* At(int64_t k, int64_t row_phase, int64_t tile, int64_t l, int64_t column_phase) const {
    int64_t row = Row(k, row_phase);
    int64_t column = Column(tile, l, column_phase);
    const Problem& p = plan.problem;
    if (row < 0 || row >= p.rows.in || column < 0 || column >= p.columns.in) return nullptr;
    if (plan.stages_out) {
      row = k * plan.rows.phases() + row_phase;
      column = (tile * run.column.outputs + l) * plan.columns.phases() + column_phase;
    }
    return base + row * row_pitch + column * column_pitch;
  }
  // Elements from an output to the same one of the next tile.
  int64_t tile_pitch() const {
    return run.column.outputs * column_pitch *
           (plan.stages_out ? plan.columns.phases() : plan.columns.out_step());
  }
};

}  // namespace dgrad::winograd

#endif  // DGRAD_ALGORITHMS_WINOGRAD_WINOGRAD_TASK_H_
