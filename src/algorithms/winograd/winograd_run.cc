// Winograd at run time.
#include <algorithm>
#include <span>
#include <type_traits>

#include "src/algorithms/direct/pack_block.h"
#include "src/algorithms/element_types.h"
#include "src/algorithms/steps.h"
#include "src/algorithms/tensor_mover.h"
#include "src/algorithms/winograd/winograd_plan.h"
#include "src/base/prefetch.h"
#include "src/kernels/gemm/gemm.h"
#include "src/kernels/winograd/winograd.h"

namespace dgrad::winograd {
namespace {

using kernels::kMaxPoints;

template <typename S, typename T>
class Runner {
 public:
  // Either packed or filter is null.
  Runner(const WinogradPlan& plan, const void* out_backprop, const void* packed, const void* filter,
         void* in_backprop, void* workspace)
      : plan_(plan),
        p_(plan.problem),
        family_(kernels::Winograd<T>(plan.isa)),
        gemm_(kernels::Gemm<T>(plan.isa)),
        mover_(plan.problem, plan.isa),
        convert_(kernels::Convert(plan.isa)),
        transpose_(kernels::Transpose<T>(plan.isa)),
        source_(static_cast<const S*>(out_backprop)),
        packed_(static_cast<const T*>(packed)),
        filter_(static_cast<const S*>(filter)),
        result_(static_cast<S*>(in_backprop)),
        shared_filter_(static_cast<T*>(workspace)),
        slots_(static_cast<std::byte*>(workspace) + RoundUp(plan.shared_filter_bytes, 64)) {}

  Status Run(Executor& executor, const Control& control) {
    if (plan_.shared_filter) DGRAD_RETURN_IF_ERROR(ShareFilter(executor, control));
    const int64_t tasks = plan_.tile_blocks * plan_.channel_parts;
    return RunTasks(executor, plan_.slots, tasks, control, [&](int slot, int64_t task) {
      RunTask(task / plan_.channel_parts, task % plan_.channel_parts,
              slots_ + slot * plan_.layout.bytes);
    });
  }

 private:
  // Parts of a slot's scratch.
  struct Scratch {
    T *v, *m, *u, *filter, *strip, *window, *staging;
    int64_t* offsets;
    kernels::GemmStep* steps;
    TileRun* runs;
  };

  Status ShareFilter(Executor& executor, const Control& control) {
    const int64_t blocks = BlockCount(plan_.vectors);
    const int64_t pieces = blocks * plan_.phases() * plan_.piece_count();
    const int slots = plan_.shared_filter_bytes < (int64_t{256} << 10) ? 1 : plan_.slots;
    return RunTasks(executor, slots, pieces, control, [&](int slot, int64_t index) {
      const Piece piece = PieceAt(plan_, index % plan_.piece_count());
      index /= plan_.piece_count();
      const Block block = BlockAt(plan_.vectors, index / plan_.phases());
      const int64_t phase = index % plan_.phases();
      MakeU(block, phase, piece, At(slots_ + slot * plan_.layout.bytes),
            SharedFilter(block, phase, piece));
    });
  }

  T* SharedFilter(Block block, int64_t phase, const Piece& piece) const {
    return shared_filter_ + plan_.FilterOffset(block, phase) +
           plan_.planes() * piece.begin * block.count * plan_.lanes;
  }

  Scratch At(std::byte* slot) const {
    const SlotLayout& l = plan_.layout;
    const auto part = [&](int64_t at) { return reinterpret_cast<T*>(slot + at); };
    return {part(l.v),
            part(l.m),
            part(l.u),
            part(l.filter),
            part(l.strip),
            part(l.window),
            part(l.staging),
            reinterpret_cast<int64_t*>(slot + l.offsets),
            reinterpret_cast<kernels::GemmStep*>(slot + l.steps),
            reinterpret_cast<TileRun*>(slot + l.runs)};
  }

  void RunTask(int64_t tile_block, int64_t part, std::byte* slot) {
    const Scratch scratch = At(slot);
    const int64_t begin = PartBegin(plan_.tiles, plan_.tile_blocks, tile_block);
    const int64_t end = PartBegin(plan_.tiles, plan_.tile_blocks, tile_block + 1);
    const std::span<const TileRun> runs(scratch.runs, FindRuns(begin, end, scratch.runs));
    for (size_t i = 0; i < runs.size(); ++i) {
      TransformInput(runs[i], i + 1 < runs.size() ? &runs[i + 1] : nullptr, scratch);
    }
    const int64_t blocks = BlockCount(plan_.vectors);
    const int64_t last = PartBegin(blocks, plan_.channel_parts, part + 1);
    for (int64_t b = PartBegin(blocks, plan_.channel_parts, part); b < last; ++b) {
      const Block block = BlockAt(plan_.vectors, b);
      if (filter_ != nullptr) PackBlock(block, scratch.filter);
      for (int64_t i = 0; i < plan_.piece_count(); ++i) {
        Multiply(runs, end - begin, block, i, scratch);
      }
      for (const TileRun& run : runs) TransformOutput(run, block, scratch);
    }
  }

  // The direct algorithm's packed filter of a block: [row phase][column group].
  void PackBlock(Block block, T* to) const {
    const direct::DirectPlan& direct = *plan_.fallback;
    for (int64_t a = 0; a < static_cast<int64_t>(direct.row_phases.size()); ++a) {
      for (const direct::ColumnGroup& group : direct.column_groups) {
        direct::PackBlock(direct, filter_, 0, direct.row_phases[a], group, block,
                          to + BlockOffset(block, a, group));
      }
    }
  }
  int64_t BlockOffset(Block block, int64_t row_phase, const direct::ColumnGroup& group) const {
    const direct::DirectPlan& direct = *plan_.fallback;
    const int64_t taps =
        direct.row_taps_before[row_phase] * plan_.taps_total() / direct.row_taps_total +
        direct.row_phases[row_phase].taps * plan_.column_taps_before(group);
    return taps * p_.out_channels * block.count * plan_.lanes;
  }
  const T* TapsOf(Block block, int64_t row_phase, const direct::ColumnGroup& group,
                  const T* block_filter) const {
    const direct::DirectPlan& direct = *plan_.fallback;
    if (filter_ != nullptr) return block_filter + BlockOffset(block, row_phase, group);
    return packed_ + direct.PackedOffset(0, row_phase, group) +
           direct.BlockElements(row_phase, group, block.first);
  }
  // U of a phase and a piece.
  void MakeU(Block block, int64_t phase, const Piece& piece, const Scratch& scratch, T* to) const {
    const int64_t a = plan_.row_taps[phase / plan_.columns.phases()].phase;
    const int64_t b = plan_.column_taps[phase % plan_.columns.phases()].phase;
    const T* const taps = a < 0 || b < 0
                              ? nullptr
                              : TapsOf(block, a, plan_.fallback->column_groups[b], scratch.filter);
    TransformFilter(plan_, taps, block, phase, piece, scratch.strip, to);
  }

  // M and U of a phase.
  T* MOf(const Scratch& scratch, Block block, int64_t phase) const {
    return scratch.m +
           phase * plan_.planes() * plan_.PlaneElements(block.count * int64_t{plan_.lanes});
  }
  T* UOf(const Scratch& scratch, Block block, int64_t phase, const Piece& piece) const {
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
      run.row_points = kernels::kPointSets[run.row.point_set].Mask();
      run.column_points = kernels::kPointSets[run.column.point_set].Mask();
      t += run.count;
    }
    return count;
  }

  int64_t Plane(const AxisTile& row, int i, const AxisTile& column, int j) const {
    return kernels::kPointSets[row.point_set].index[i] * plan_.columns.points() +
           kernels::kPointSets[column.point_set].index[j];
  }
  static int Points(const AxisTile& tile) { return kernels::kPointSets[tile.point_set].count; }

  // V of a run of tiles: rows of points for each column of pixels, then columns of points.
  void TransformInput(const TileRun& run, const TileRun* next, const Scratch& scratch) const {
    const int64_t step = plan_.columns.in_step();
    const int row_points = Points(run.row), column_points = Points(run.column);
    const int64_t columns = (run.count - 1) * run.column.outputs + column_points;
    // Columns [first, last) of the strip lie inside out_backprop.
    const int64_t first = std::clamp<int64_t>(CeilDivide(-run.column.in_begin, step), 0, columns);
    const int64_t last =
        std::clamp<int64_t>(CeilDivide(p_.columns.out - run.column.in_begin, step), first, columns);
    const int64_t plane = plan_.PlaneElements(plan_.terms_pitch);
    T* const strip = scratch.strip;  // [row point][column][channel]
    T* const raw = strip + row_points * columns * plan_.chunk;
    T* const zeros = raw + (plan_.converts_in ? row_points * columns * plan_.chunk : 0);
    std::fill(zeros, zeros + plan_.chunk, T{});
    for (int64_t i = 0; i < plan_.piece_count(); ++i) {
      const Piece piece = PieceAt(plan_, i);
      T* const v = scratch.v + i * plan_.planes() * plane + run.first * plan_.terms_pitch;
      for (int64_t c = 0; c < piece.count; c += plan_.chunk) {
        const int64_t channels = std::min(plan_.chunk, piece.count - c);
        if (!plan_.converts_in && next != nullptr) {
          PrefetchInput(*next, piece.begin + c, channels);
        }
        TransformChunk(run, columns, first, last, piece.begin + c, channels, strip, raw, zeros,
                       v + c);
      }
    }
  }

  // Channels [channel, channel + channels) of a run: through the strip to V, whose vectors they
  // begin at v.
  void TransformChunk(const TileRun& run, int64_t columns, int64_t first, int64_t last,
                      int64_t channel, int64_t channels, T* strip, T* raw, const T* zeros,
                      T* v) const {
    const int64_t step = plan_.columns.in_step();
    const int64_t chunk = plan_.chunk;
    const int row_points = Points(run.row), column_points = Points(run.column);
    kernels::TransformCall<T> call{};
    call.lines = last - first;
    call.channels = channels;
    call.exact_from = !plan_.converts_in;
    call.to_line = chunk;
    for (int i = 0; i < row_points; ++i) {
      T* const to = strip + i * columns * chunk;
      call.to[i] = to + first * chunk;
      std::fill(to, to + first * chunk, T{});
      std::fill(to + last * chunk, to + columns * chunk, T{});
      const int64_t row = run.row.in_begin + i * plan_.rows.in_step();
      call.from[i] = zeros;
      call.from_line[i] = 0;
      if (row < 0 || row >= p_.rows.out || last <= first) continue;
      const int64_t column = run.column.in_begin + first * step;
      if (plan_.converts_in) {
        T* const line = raw + i * columns * chunk;
        Convert(run.image, row, column, last - first, channel, channels, line);
        call.from[i] = line;
        call.from_line[i] = chunk;
      } else if constexpr (std::is_same_v<S, T>) {
        call.from[i] =
            source_ +
            ((run.image * p_.rows.out + row) * p_.columns.out + column) * p_.out_channels + channel;
        call.from_line[i] = step * p_.out_channels;
      }
    }
    family_.input[run.row.point_set](call);

    call.lines = run.count;
    call.channels = RoundUp(channels, plan_.lanes);
    call.exact_from = false;
    call.to_line = plan_.terms_pitch;
    const int64_t plane = plan_.PlaneElements(plan_.terms_pitch);
    for (int i = 0; i < row_points; ++i) {
      for (int j = 0; j < column_points; ++j) {
        call.from[j] = strip + (i * columns + j) * chunk;
        call.from_line[j] = run.column.outputs * chunk;
        call.to[j] = v + Plane(run.row, i, run.column, j) * plane;
      }
      family_.input[run.column.point_set](call);
    }
  }

  // Inlined by force, as all that only prefetches.
  [[gnu::always_inline]] inline void PrefetchInput(const TileRun& run, int64_t channel,
                                                   int64_t channels) const {
    const int64_t step = plan_.columns.in_step();
    const int64_t columns = (run.count - 1) * run.column.outputs + Points(run.column);
    for (int i = 0; i < Points(run.row); ++i) {
      const int64_t row = run.row.in_begin + i * plan_.rows.in_step();
      if (row < 0 || row >= p_.rows.out) continue;
      const S* from = source_ +
                      ((run.image * p_.rows.out + row) * p_.columns.out + run.column.in_begin) *
                          p_.out_channels +
                      channel;
      for (int64_t j = 0; j < columns; ++j, from += step * p_.out_channels) {
        PrefetchForRead(from, channels * static_cast<int64_t>(sizeof(S)));
      }
    }
  }

  // Pixels of a row of out_backprop, in_step apart, to [pixel][chunk], zeros behind the channels.
  void Convert(int64_t image, int64_t row, int64_t column, int64_t count, int64_t first_channel,
               int64_t channels, T* to) const {
    const int64_t step = plan_.columns.in_step();
    const int64_t chunk = plan_.chunk;
    if (channels < chunk) std::fill(to, to + count * chunk, T{});
    if (p_.layout == Layout::kNhwc) {
      const S* from = source_ +
                      ((image * p_.rows.out + row) * p_.columns.out + column) * p_.out_channels +
                      first_channel;
      for (int64_t i = 0; i < count; ++i) {
        kernels::Widen(convert_, from + i * step * p_.out_channels, to + i * chunk, channels);
      }
      return;
    }
    const int64_t plane = p_.rows.out * p_.columns.out;
    const S* const from =
        source_ + (image * p_.out_channels + first_channel) * plane + row * p_.columns.out + column;
    if constexpr (std::is_same_v<S, T>) {
      if (step == 1) return transpose_(from, plane, to, chunk, channels, count);
      for (int64_t i = 0; i < count; ++i) {
        transpose_(from + i * step, plane, to + i * chunk, chunk, channels, 1);
      }
    } else {
      constexpr int64_t kPlanes = 16;
      constexpr int64_t kLine = kRunTiles * kernels::kMaxOutputs + kernels::kMaxTaps;
      T wide[kPlanes * kLine];
      for (int64_t k = 0; k < channels; k += kPlanes) {
        const int64_t planes = std::min(kPlanes, channels - k);
        for (int64_t n = 0; n < planes; ++n) {
          const S* const line = from + (k + n) * plane;
          if (step == 1) {
            kernels::Widen(convert_, line, wide + n * kLine, count);
          } else {
            for (int64_t i = 0; i < count; ++i) {
              kernels::Widen(convert_, line + i * step, wide + n * kLine + i, 1);
            }
          }
        }
        transpose_(wide, kLine, to + k, chunk, planes, count);
      }
    }
  }

  // M of all tiles and a block of channels for one piece of the sum, which is added to what the
  // pieces before gave. Phases are innermost: they read the same plane of V.
  void Multiply(std::span<const TileRun> runs, int64_t tiles, Block block, int64_t piece_index,
                const Scratch& scratch) const {
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
    call.accumulate = piece.begin > 0;
    for (int i = 0; i < plan_.rows.points(); ++i) {
      for (int j = 0; j < plan_.columns.points(); ++j) {
        const int64_t plane = i * plan_.columns.points() + j;
        call.a = scratch.v +
                 (piece_index * plan_.planes() + plane) * plan_.PlaneElements(plan_.terms_pitch);
        const int64_t rows = ListTiles(runs, tiles, i, j, width, scratch);
        for (int64_t phase = 0; phase < plan_.phases(); ++phase) {
          call.b = UOf(scratch, block, phase, piece) + plane * piece.count * width;
          call.out = MOf(scratch, block, phase) + plane * plan_.PlaneElements(width);
          MultiplyPlane(call, block.count, rows, scratch);
        }
      }
    }
  }

  // Register tiles of nearly equal size.
  void MultiplyPlane(kernels::GemmCall<T>& call, int vectors, int64_t rows,
                     const Scratch& scratch) const {
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

  // Where the tiles that have the plane's points read V and write M; how many they are.
  int64_t ListTiles(std::span<const TileRun> runs, int64_t tiles, int row_point, int column_point,
                    int64_t width, const Scratch& scratch) const {
    int64_t* const a_offsets = scratch.offsets;
    int64_t* const out_offsets = scratch.offsets + plan_.block_tiles;
    int64_t rows = 0;
    const auto add = [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t, ++rows) {
        a_offsets[rows] = t * plan_.terms_pitch;
        out_offsets[rows] = t * width;
      }
    };
    if (plan_.same_points) {
      add(0, tiles);
      return rows;
    }
    for (const TileRun& run : runs) {
      if ((run.row_points >> row_point & run.column_points >> column_point & 1) != 0) {
        add(run.first, run.first + run.count);
      }
    }
    return rows;
  }

  // Where results go: pixel (row, column) of in_backprop at
  // base + (row - first_row) * row_pitch + (column - first_column) * column_pitch.
  struct Target {
    T* base = nullptr;
    int64_t first_row = 0, first_column = 0;
    int64_t row_pitch = 0, column_pitch = 0;

    T* At(int64_t row, int64_t column) const {
      return base + (row - first_row) * row_pitch + (column - first_column) * column_pitch;
    }
  };

  void TransformOutput(const TileRun& run, Block block, const Scratch& scratch) {
    const int64_t first_channel = block.first * plan_.lanes;
    const int64_t channels =
        std::min<int64_t>(block.count * plan_.lanes, p_.in_channels - first_channel);
    const int64_t columns = run.count * run.column.outputs * plan_.columns.phases();
    Target target;
    if (plan_.stages_out) {
      // Steps between outputs are left out: a staged run is dense.
      target = {scratch.staging, 0, 0, columns * channels, channels};
    } else if constexpr (std::is_same_v<S, T>) {
      target = {result_ + run.image * p_.rows.in * p_.columns.in * p_.in_channels + first_channel,
                0, 0, p_.columns.in * p_.in_channels, p_.in_channels};
    }
    bool finite = true;
    for (int64_t phase = 0; phase < plan_.phases(); ++phase) {
      finite = TransformPhase(run, block, phase, channels, target, scratch) && finite;
    }
    if (!finite) Recompute(run, block, channels, target, scratch);
    if (plan_.stages_out) Unstage(run, first_channel, channels, columns, scratch.staging);
  }

  int64_t OutRow(const TileRun& run, int64_t k, int64_t phase) const {
    return run.row.out_begin + k * plan_.rows.out_step() + phase;
  }
  int64_t OutColumn(const TileRun& run, int64_t tile, int64_t k, int64_t phase) const {
    return run.column.out_begin + (tile * run.column.outputs + k) * plan_.columns.out_step() +
           phase;
  }

  // The address of one output, null beyond the borders.
  T* Output(const TileRun& run, const Target& target, int64_t k, int64_t row_phase, int64_t tile,
            int64_t l, int64_t column_phase) const {
    const int64_t row = OutRow(run, k, row_phase);
    const int64_t column = OutColumn(run, tile, l, column_phase);
    if (row < 0 || row >= p_.rows.in || column < 0 || column >= p_.columns.in) return nullptr;
    if (!plan_.stages_out) return target.At(row, column);
    return target.At(k * plan_.rows.phases() + row_phase,
                     (tile * run.column.outputs + l) * plan_.columns.phases() + column_phase);
  }

  // One phase's outputs of a run: columns of points to rows of pixels, then across. Whether all of
  // them are finite.
  bool TransformPhase(const TileRun& run, Block block, int64_t phase, int64_t channels,
                      const Target& target, const Scratch& scratch) const {
    const int64_t width = block.count * plan_.lanes;
    const int64_t plane = plan_.PlaneElements(width);
    const T* const m = MOf(scratch, block, phase) + run.first * width;
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
    std::fill(call.from_line, call.from_line + kMaxPoints, width);
    bool finite = true;
    for (int j = 0; j < column_points; ++j) {
      for (int i = 0; i < row_points; ++i) {
        call.from[i] = m + Plane(run.row, i, run.column, j) * plane;
      }
      for (int k = 0; k < run.row.outputs; ++k) {
        call.to[k] = lines + (k * column_points + j) * line;
      }
      family_.output[run.row.point_set][run.row.outputs](call);
    }
    const auto kernel = family_.output[run.column.point_set][run.column.outputs];
    call.channels = channels;
    call.exact_to = true;
    const bool inside =
        OutColumn(run, 0, 0, column_phase) >= 0 &&
        OutColumn(run, run.count - 1, run.column.outputs - 1, column_phase) < p_.columns.in;
    for (int k = 0; k < run.row.outputs; ++k) {
      const int64_t row = OutRow(run, k, row_phase);
      if (row < 0 || row >= p_.rows.in) continue;
      for (int j = 0; j < column_points; ++j) {
        call.from[j] = lines + (k * column_points + j) * line;
      }
      // All tiles at once, or one at a time where the border cuts them.
      for (int64_t tile = 0; tile < run.count; tile += inside ? run.count : 1) {
        call.lines = inside ? run.count : 1;
        call.to_line = run.column.outputs * target.column_pitch *
                       (plan_.stages_out ? plan_.columns.phases() : plan_.columns.out_step());
        for (int l = 0; l < run.column.outputs; ++l) {
          T* const to = Output(run, target, k, row_phase, tile, l, column_phase);
          call.to[l] = to == nullptr ? trash : to;
        }
        finite = kernel(call) && finite;
        for (int j = 0; j < column_points; ++j) call.from[j] += width;
      }
    }
    return finite;
  }

  // Scratch to the result, as far as it lies inside.
  void Unstage(const TileRun& run, int64_t first_channel, int64_t channels, int64_t columns,
               const T* staging) const {
    const int64_t dilation = plan_.columns.in_step();
    const int64_t row_phases = plan_.rows.phases();
    for (int64_t i = 0; i < run.row.outputs * row_phases; ++i, staging += columns * channels) {
      const int64_t row = OutRow(run, i / row_phases, i % row_phases);
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

  // The outputs of a run by direct summation, in the order of the direct algorithm: a value that is
  // not finite must spread as far as the definition says, no further.
  void Recompute(const TileRun& run, Block block, int64_t channels, const Target& target,
                 const Scratch& scratch) const {
    for (int64_t tile = 0; tile < run.count; ++tile) {
      LoadWindow(run, tile, scratch.window);
      for (int64_t i = 0; i < run.row.outputs * plan_.rows.phases(); ++i) {
        for (int64_t j = 0; j < run.column.outputs * plan_.columns.phases(); ++j) {
          const int64_t row_phase = i % plan_.rows.phases(), k = i / plan_.rows.phases();
          const int64_t column_phase = j % plan_.columns.phases(), l = j / plan_.columns.phases();
          T* const to = Output(run, target, k, row_phase, tile, l, column_phase);
          if (to == nullptr) continue;
          SumPixel(run, tile, block, channels, OutRow(run, k, row_phase),
                   OutColumn(run, tile, l, column_phase), scratch, to);
        }
      }
    }
  }

  // What a tile reads: [row point][column point][out channel]; nothing where it reads nothing.
  void LoadWindow(const TileRun& run, int64_t tile, T* window) const {
    const int64_t chunk = plan_.chunk;
    T pixel[kChunkVectors * 64 / sizeof(T)];
    for (int i = 0; i < Points(run.row); ++i) {
      const int64_t row = run.row.in_begin + i * plan_.rows.in_step();
      if (row < 0 || row >= p_.rows.out) continue;
      for (int j = 0; j < Points(run.column); ++j) {
        const int64_t column =
            run.column.in_begin + (tile * run.column.outputs + j) * plan_.columns.in_step();
        if (column < 0 || column >= p_.columns.out) continue;
        T* const to = window + (i * plan_.columns.points() + j) * p_.out_channels;
        for (int64_t c = 0; c < p_.out_channels; c += chunk) {
          const int64_t channels = std::min(chunk, p_.out_channels - c);
          Convert(run.image, row, column, 1, c, channels, pixel);
          std::copy(pixel, pixel + channels, to + c);
        }
      }
    }
  }

  void SumPixel(const TileRun& run, int64_t tile, Block block, int64_t channels, int64_t row,
                int64_t column, const Scratch& scratch, T* to) const {
    const direct::DirectPlan& direct = *plan_.fallback;
    const int64_t row_residue = row % p_.rows.stride, column_residue = column % p_.columns.stride;
    size_t a = 0;
    while (a < direct.row_phases.size() && direct.row_phases[a].residue != row_residue) ++a;
    size_t b = 0;
    while (b < direct.column_groups.size() &&
           direct.column_groups[b].phase.residue != column_residue) {
      ++b;
    }
    Segment rows, columns;
    if (a < direct.row_phases.size() && b < direct.column_groups.size()) {
      const int64_t j = row / p_.rows.stride, l = column / p_.columns.stride;
      rows = SegmentAt(direct.row_phases[a], p_.rows.out, j, j + 1);
      columns = SegmentAt(direct.column_groups[b].phase, p_.columns.out, l, l + 1);
    }
    if (rows.empty() || columns.empty()) {
      std::fill(to, to + channels, T{});
      return;
    }
    const Phase& row_taps = direct.row_phases[a];
    const direct::ColumnGroup& group = direct.column_groups[b];
    const int64_t pixel = p_.out_channels;
    const int64_t line = plan_.columns.points() * pixel;
    // The first tap's pixel in the window.
    const int64_t i =
        (rows.begin - row_taps.shift(rows.first_tap) - run.row.in_begin) / plan_.rows.in_step();
    const int64_t j = (columns.begin - group.phase.shift(columns.first_tap) - run.column.in_begin) /
                          plan_.columns.in_step() -
                      tile * run.column.outputs;
    StepGeometry geometry;
    geometry.terms = p_.out_channels;
    geometry.chunks = direct.term_chunks;
    geometry.a_row_tap = -line;
    geometry.a_column_tap = -pixel;
    geometry.phase_row_taps = row_taps.taps;
    geometry.phase_column_taps = group.phase.taps;
    geometry.first_row_tap = rows.first_tap;
    geometry.first_column_tap = columns.first_tap;
    geometry.row_taps = rows.last_tap - rows.first_tap;
    geometry.column_taps = columns.last_tap - columns.first_tap;
    StepWriter writer(geometry);
    const int64_t offset = 0;
    kernels::GemmCall<T> call{};
    call.a = scratch.window + i * line + j * pixel;
    call.a_offsets = &offset;
    call.b = TapsOf(block, static_cast<int64_t>(a), group, scratch.filter);
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

  const WinogradPlan& plan_;
  const Problem& p_;
  const kernels::WinogradFamily<T>& family_;
  const kernels::GemmFamily<T>& gemm_;
  const TensorMover<S, T> mover_;
  const kernels::ConvertFamily& convert_;
  const kernels::TransposeKernel<T> transpose_;
  const S* const source_;
  const T* const packed_;
  const S* const filter_;
  S* const result_;
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
