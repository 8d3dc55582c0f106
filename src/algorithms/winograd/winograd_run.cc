// Winograd at run time.
#include <algorithm>
#include <span>
#include <type_traits>

#include "src/algorithms/element_types.h"
#include "src/algorithms/winograd/winograd_filter.h"
#include "src/algorithms/winograd/winograd_input.h"
#include "src/algorithms/winograd/winograd_output.h"
#include "src/algorithms/winograd/winograd_plan.h"
#include "src/algorithms/winograd/winograd_recompute.h"
#include "src/algorithms/winograd/winograd_task.h"
#include "src/base/prefetch.h"
#include "src/kernels/gemm/gemm.h"

namespace dgrad::winograd {
namespace {

template <typename S, typename T>
class Runner {
 public:
  // Either packed or filter is null.
  Runner(const WinogradPlan& plan, const void* out_backprop, const void* packed, const void* filter,
         void* in_backprop, void* workspace)
      : plan_(plan),
        p_(plan.problem),
        gemm_(kernels::Gemm<T>(plan.isa)),
        filter_(plan, static_cast<const T*>(packed), static_cast<const S*>(filter)),
        input_(plan, static_cast<const S*>(out_backprop)),
        output_(plan, static_cast<S*>(in_backprop)),
        sums_(plan, input_, filter_),
        shared_filter_(static_cast<T*>(workspace)),
        slots_(static_cast<std::byte*>(workspace) + RoundUp(plan.shared_filter_bytes, 64)) {}

  Status Run(Executor& executor, const Control& control) {
    if (plan_.shared_filter) DGRAD_RETURN_IF_ERROR(ShareFilter(executor, control));
    const int64_t tasks = plan_.tile_blocks * plan_.channel_parts;
    return RunTasks(executor, plan_.slots, tasks, control, [&](int slot, int64_t task) {
      RunTask(task / plan_.channel_parts, task % plan_.channel_parts, ScratchOf(slot));
    });
  }

 private:
  Scratch<T> ScratchOf(int slot) const { return {plan_, slots_ + slot * plan_.layout.bytes}; }

  Status ShareFilter(Executor& executor, const Control& control) {
    const int64_t blocks = BlockCount(plan_.vectors);
    const int64_t pieces = blocks * plan_.phases() * plan_.piece_count();
    const int slots = plan_.shared_filter_bytes < (int64_t{256} << 10) ? 1 : plan_.slots;
    return RunTasks(executor, slots, pieces, control, [&](int slot, int64_t index) {
      const Piece piece = PieceAt(plan_, index % plan_.piece_count());
      index /= plan_.piece_count();
      const Block block = BlockAt(plan_.vectors, index / plan_.phases());
      const int64_t phase = index % plan_.phases();
      MakeU(block, phase, piece, ScratchOf(slot), SharedFilter(block, phase, piece));
    });
  }

  T* SharedFilter(Block block, int64_t phase, const Piece& piece) const {
    return shared_filter_ + plan_.FilterOffset(block, phase) +
           plan_.planes() * piece.terms_before * block.count * plan_.lanes;
  }

  void RunTask(int64_t tile_block, int64_t part, const Scratch<T>& scratch) {
    const int64_t begin = PartBegin(plan_.tiles, plan_.tile_blocks, tile_block);
    const int64_t end = PartBegin(plan_.tiles, plan_.tile_blocks, tile_block + 1);
    const std::span<const TileRun> runs(scratch.runs, FindRuns(begin, end, scratch.runs));
    const int64_t blocks = BlockCount(plan_.vectors);
    const int64_t first = PartBegin(blocks, plan_.channel_parts, part);
    const int64_t last = PartBegin(blocks, plan_.channel_parts, part + 1);
    for (int64_t round = 0; round < plan_.rounds(); ++round) {
      for (size_t i = 0; i < runs.size(); ++i) {
        input_.Transform(runs[i], i + 1 < runs.size() ? &runs[i + 1] : nullptr,
                         static_cast<int>(round), scratch);
      }
      for (int64_t b = first; b < last; ++b) {
        const Block block = BlockAt(plan_.vectors, b);
        Scratch<T> own = scratch;  // with the block's M
        if (plan_.rounds() > 1) {
          own.m += (b - first) * plan_.phases() * plan_.ProductElements(2 * int64_t{plan_.lanes});
        }
        if (round == 0) filter_.PackBlock(block, own.filter);
        for (int64_t i = 0; i < plan_.round_pieces(); ++i) {
          Multiply(runs, end - begin, block, round * plan_.round_pieces() + i, own);
        }
        if (round + 1 < plan_.rounds()) continue;
        for (const TileRun& run : runs) FinishRun(run, block, own);
      }
    }
    output_.Fence();
  }

  void FinishRun(const TileRun& run, Block block, const Scratch<T>& scratch) const {
    const int64_t first_channel = block.first * plan_.lanes;
    const int64_t channels =
        std::min<int64_t>(block.count * plan_.lanes, p_.in_channels - first_channel);
    const RunOutputs<T> outputs = output_.OutputsOf(run, first_channel, channels, scratch);
    if (!output_.Transform(outputs, block, channels, scratch)) {
      sums_.Compute(outputs, block, channels, scratch);
    }
    output_.Finish(outputs, first_channel, channels);
  }

  // U of a phase and a piece.
  void MakeU(Block block, int64_t phase, const Piece& piece, const Scratch<T>& scratch,
             T* to) const {
    const int64_t a = plan_.row_taps[phase / plan_.columns.phases()].phase;
    const int64_t b = plan_.column_taps[phase % plan_.columns.phases()].phase;
    const T* const taps = a < 0 || b < 0 ? nullptr : filter_.TapsOf(block, a, b, scratch.filter);
    TransformFilter(plan_, taps, block, phase, piece, scratch.strip, to);
  }
  T* UOf(const Scratch<T>& scratch, Block block, int64_t phase, const Piece& piece) const {
    if (plan_.shared_filter) return SharedFilter(block, phase, piece);
    return scratch.u + phase * plan_.planes() * piece.count * block.count * plan_.lanes;
  }

  // The tiles [begin, end) as runs; how many those are.
  size_t FindRuns(int64_t begin, int64_t end, TileRun* runs) const {
    const int64_t columns = plan_.columns.count();
    size_t count = 0;
    for (int64_t t = begin; t < end;) {
      TileRun& run = runs[count++];
      const int64_t tile_row = t / columns;
      run.image = tile_row / plan_.rows.count();
      run.row = plan_.rows.At(tile_row % plan_.rows.count());
      run.column = plan_.columns.At(t % columns);
      run.count = std::min({run.column.run, kRunTiles, end - t});
      run.first = t - begin;
      t += run.count;
    }
    return count;
  }

  // M of all tiles and a block of channels for one piece of the sum, which is added to what the
  // pieces before gave. Phases are innermost: they read the same plane of V.
  void Multiply(std::span<const TileRun> runs, int64_t tiles, Block block, int64_t piece_index,
                const Scratch<T>& scratch) const {
    const Piece piece = PieceAt(plan_, piece_index);
    for (int64_t phase = 0; phase < plan_.phases() && !plan_.shared_filter; ++phase) {
      MakeU(block, phase, piece, scratch, UOf(scratch, block, phase, piece));
    }
    const int64_t width = block.count * plan_.lanes;
    const kernels::GemmStep step = {0, 0, static_cast<int32_t>(piece.count), 1};
    kernels::GemmCall<T> call{};
    call.steps = &step;
    call.step_count = 1;
    call.columns = width;
    call.accumulate = piece_index > 0;
    for (int i = 0; i < plan_.rows.points(); ++i) {
      for (int j = 0; j < plan_.columns.points(); ++j) {
        const int64_t plane = i * plan_.columns.points() + j;
        call.a = scratch.v + (piece_index % plan_.round_pieces() * plan_.planes() + plane) *
                                 plan_.PlaneElements(plan_.terms_pitch);
        const int64_t rows = ListTiles(runs, tiles, piece, i, j, width, scratch);
        for (int64_t phase = 0; phase < plan_.phases(); ++phase) {
          call.b = UOf(scratch, block, phase, piece) + plane * piece.count * width;
          call.out =
              scratch.m + phase * plan_.ProductElements(width) + plane * plan_.PlaneElements(width);
          MultiplyPlane(call, block.count, rows, scratch);
        }
      }
    }
  }

  // Register tiles of nearly equal size.
  void MultiplyPlane(kernels::GemmCall<T>& call, int vectors, int64_t rows,
                     const Scratch<T>& scratch) const {
    const int64_t parts = CeilDivide(rows, gemm_.max_rows[vectors]);
    for (int64_t k = 0; k < parts; ++k) {
      const int64_t first = PartBegin(rows, parts, k);
      const int64_t last = PartBegin(rows, parts, k + 1);
      call.a_offsets = scratch.offsets + first;
      call.out_offsets = scratch.offsets + plan_.block_tiles + first;
      // What the next tile reads; rows of a plane follow each other.
      PrefetchForRead(call.a + call.a_offsets[last - first - 1] + plan_.terms_pitch,
                      (last - first) * plan_.terms_pitch * static_cast<int64_t>(sizeof(T)));
      gemm_.kernels[vectors][last - first](call);
    }
  }

  // Where the tiles that have the plane's points in a piece read V and write M; how many they are.
  int64_t ListTiles(std::span<const TileRun> runs, int64_t tiles, const Piece& piece, int row_point,
                    int column_point, int64_t width, const Scratch<T>& scratch) const {
    int64_t* const a_offsets = scratch.offsets;
    int64_t* const out_offsets = scratch.offsets + plan_.block_tiles;
    int64_t rows = 0;
    const auto add = [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t, ++rows) {
        a_offsets[rows] = t * plan_.terms_pitch;
        out_offsets[rows] = t * width;
      }
    };
    const auto has_plane = [&](const TileRun& run) {
      return (plan_.rows.points_mask(run.row.outputs, piece.row_piece) >> row_point &
              plan_.columns.points_mask(run.column.outputs, piece.column_piece) >> column_point &
              1) != 0;
    };
    if (plan_.same_points) {
      if (has_plane(runs[0])) add(0, tiles);
      return rows;
    }
    for (const TileRun& run : runs) {
      if (has_plane(run)) add(run.first, run.first + run.count);
    }
    return rows;
  }

  const WinogradPlan& plan_;
  const Problem& p_;
  const kernels::GemmFamily<T>& gemm_;
  const FilterSource<S, T> filter_;
  const InputTransform<S, T> input_;
  const OutputTransform<S, T> output_;
  const DirectSums<S, T> sums_;
  T* const shared_filter_;
  std::byte* const slots_;
};

Status RunWith(const WinogradPlan& plan, const void* out_backprop, const void* packed,
               const void* filter, void* in_backprop, void* workspace, Executor& executor,
               const Control& control) {
  return WithElementTypes(plan.problem.dtype, [&](auto storage, auto compute) -> Status {
    if constexpr (std::is_same_v<decltype(compute), int32_t>) {
      return Internal("winograd was planned for integers");
    } else {
      Runner<decltype(storage), decltype(compute)> runner(plan, out_backprop, packed, filter,
                                                          in_backprop, workspace);
      return runner.Run(executor, control);
    }
  });
}

}  // namespace

Status WinogradPlan::Run(const void* out_backprop, const void* packed, void* in_backprop,
                         void* workspace, Executor& executor, const Control& control) const {
  return RunWith(*this, out_backprop, packed, nullptr, in_backprop, workspace, executor, control);
}

Status WinogradPlan::RunUnpacked(const void* out_backprop, const void* filter, void* in_backprop,
                                 void* workspace, Executor& executor,
                                 const Control& control) const {
  return RunWith(*this, out_backprop, nullptr, filter, in_backprop, workspace, executor, control);
}

}  // namespace dgrad::winograd
