// The direct algorithm's packed filter: columns of a block side by side, terms one after the other,
// in the order in which the kernel reads them.
#include <algorithm>

#include "src/algorithms/direct/direct_plan.h"
#include "src/algorithms/direct/pack_block.h"
#include "src/threads/partition.h"

namespace dgrad::direct {
namespace {

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
        const Block block = BlockAt(columns.vectors, b - before);
        T* const to =
            static_cast<T*>(packed) + plan.PackedOffset(group, row_phase, columns) +
            block.first * plan.lanes * rows.taps * columns.phase.taps * p.group_out_channels();
        PackBlock<S, T>(plan, static_cast<const S*>(filter), group, rows, columns, block, to);
      }
      before += count;
    }
  });
}

}  // namespace

Status DirectPlan::PrepareFilter(const void* filter, void* packed, Executor& executor,
                                 const Control& control) const {
  return WithTypes(*this, [&](auto types) {
    using T = decltype(types);
    return Pack<typename T::Source, typename T::Factor>(*this, filter, packed, executor, control);
  });
}

}  // namespace dgrad::direct
