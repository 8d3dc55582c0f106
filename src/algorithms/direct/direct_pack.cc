// The direct algorithm's packed filter: columns of a block side by side, terms one after the other,
// in the order in which the kernel reads them.
#include <algorithm>

#include "src/algorithms/direct/direct_plan.h"
#include "src/base/half.h"
#include "src/kernels/gemm/gemm.h"
#include "src/threads/partition.h"

namespace dgrad::direct {
namespace {

template <typename T>
T ToCompute(T value) {
  return value;
}
float ToCompute(Float16 value) { return ToFloat(value); }
float ToCompute(BFloat16 value) { return ToFloat(value); }

// The first term of one column; null for a lane that pads a vector.
template <typename S>
const S* Source(const DirectPlan& plan, const S* filter, int64_t channel_group, int64_t row_tap,
                const ColumnGroup& columns, int64_t column_tap, int64_t column) {
  const Problem& p = plan.problem;
  const int64_t channels = p.group_in_channels();
  int64_t group = channel_group;
  int64_t tap = columns.phase.tap(column_tap);
  if (plan.lanes_are_groups) {
    group = channel_group * plan.lanes + column % plan.lanes;
    column /= plan.lanes;
    if (group >= p.groups) return nullptr;
  } else {
    if (column >= columns.columns) return nullptr;
    tap += column / channels;
    column %= channels;
  }
  return filter + ((row_tap * p.columns.taps + tap) * channels + column) * p.out_channels +
         group * p.group_out_channels();
}

// One block of columns of one (channel group, row phase, column group).
template <typename S, typename T>
void PackBlock(const DirectPlan& plan, const S* filter, int64_t channel_group, const Phase& rows,
               const ColumnGroup& columns, ColumnBlock block, T* to) {
  const Problem& p = plan.problem;
  constexpr int64_t kMostColumns = 64;  // 3 vectors of 16 floats
  const int64_t terms = p.group_out_channels();
  const int64_t width = block.vectors * plan.lanes;
  const S* sources[kMostColumns];
  for (int64_t chunk = 0; chunk < plan.term_chunks; ++chunk) {
    const int64_t k0 = PartBegin(terms, plan.term_chunks, chunk);
    const int64_t k1 = PartBegin(terms, plan.term_chunks, chunk + 1);
    for (int64_t i = 0; i < rows.taps; ++i) {
      for (int64_t j = 0; j < columns.phase.taps; ++j) {
        for (int64_t n = 0; n < width; ++n) {
          sources[n] = Source(plan, filter, channel_group, rows.tap(i), columns, j,
                              block.first_vector * plan.lanes + n);
        }
        for (int64_t k = k0; k < k1; k += 16) {
          const int64_t count = std::min<int64_t>(16, k1 - k);
          for (int64_t n = 0; n < width; ++n) {
            if (sources[n] == nullptr) {
              for (int64_t t = 0; t < count; ++t) to[t * width + n] = T{};
            } else {
              const S* const source = sources[n] + k;
              for (int64_t t = 0; t < count; ++t) to[t * width + n] = ToCompute(source[t]);
            }
          }
          to += count * width;
        }
      }
    }
  }
}

template <typename S, typename T>
Status Pack(const DirectPlan& plan, const void* filter, void* packed, Executor& executor,
            const Control& control) {
  const Problem& p = plan.problem;
  int64_t blocks = 0;  // of one channel group and row phase
  for (const ColumnGroup& group : plan.column_groups) blocks += BlockCount(group.vectors);
  const int64_t row_phases = static_cast<int64_t>(plan.row_phases.size());
  // A piece is a run of blocks of all column groups, for one channel group and row phase.
  const int64_t per_phase = std::min<int64_t>(blocks, 64);
  const int64_t pieces = plan.channel_groups * row_phases * per_phase;
  if (pieces == 0) return {};
  const int slots = plan.packed_filter_bytes < (int64_t{256} << 10) ? 1 : plan.slots;
  return RunTasks(executor, slots, pieces, control, [&](int, int64_t piece) {
    const int64_t phase = piece / per_phase;
    const int64_t group = phase / row_phases;
    const int64_t row_phase = phase % row_phases;
    const int64_t begin = PartBegin(blocks, per_phase, piece % per_phase);
    const int64_t end = PartBegin(blocks, per_phase, piece % per_phase + 1);
    const Phase& rows = plan.row_phases[row_phase];
    int64_t before = 0;
    for (const ColumnGroup& columns : plan.column_groups) {
      const int64_t count = BlockCount(columns.vectors);
      for (int64_t b = std::max(begin, before); b < std::min(end, before + count); ++b) {
        const ColumnBlock block = BlockAt(columns.vectors, b - before);
        T* const to = static_cast<T*>(packed) + plan.PackedOffset(group, row_phase, columns) +
                      block.first_vector * plan.lanes * rows.taps * columns.phase.taps *
                          p.group_out_channels();
        PackBlock<S, T>(plan, static_cast<const S*>(filter), group, rows, columns, block, to);
      }
      before += count;
    }
  });
}

}  // namespace

Status DirectPlan::PrepareFilter(const void* filter, void* packed, Executor& executor,
                                 const Control& control) const {
  switch (problem.dtype) {
    case DType::kF16:
      return Pack<Float16, float>(*this, filter, packed, executor, control);
    case DType::kBF16:
      return Pack<BFloat16, float>(*this, filter, packed, executor, control);
    case DType::kF32:
      return Pack<float, float>(*this, filter, packed, executor, control);
    case DType::kF64:
      return Pack<double, double>(*this, filter, packed, executor, control);
    case DType::kI32:
      return Pack<int32_t, int32_t>(*this, filter, packed, executor, control);
  }
  return Internal("unknown element type");
}

}  // namespace dgrad::direct
