// Few result channels at run time: one task per region of one image.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "src/algorithms/blocks.h"
#include "src/algorithms/element_types.h"
#include "src/algorithms/pixels/pixels_plan.h"
#include "src/algorithms/steps.h"
#include "src/algorithms/turn.h"
#include "src/base/integer.h"
#include "src/kernels/convert/convert.h"
#include "src/kernels/lanes/lanes.h"
#include "src/threads/partition.h"

namespace dgrad::pixels {
namespace {

constexpr int64_t kLine = 256;  // elements converted at a time

template <typename S, typename T>
class Runner {
 public:
  Runner(const PixelsPlan& plan, const void* out_backprop, const void* packed, void* in_backprop,
         void* workspace)
      : plan_(plan),
        p_(plan.problem),
        lanes_(kernels::Lanes<T>(plan.isa)),
        convert_(kernels::Convert(plan.isa)),
        source_(static_cast<const S*>(out_backprop)),
        packed_(static_cast<const T*>(packed)),
        result_(static_cast<S*>(in_backprop)),
        workspace_(static_cast<std::byte*>(workspace)) {}

  Status Run(Executor& executor, const Control& control) {
    const int64_t tasks = p_.batch * plan_.row_blocks * plan_.column_blocks;
    return RunTasks(executor, plan_.slots, tasks, control, [&](int slot, int64_t task) {
      const int64_t column_block = task % plan_.column_blocks;
      task /= plan_.column_blocks;
      const int64_t image = task / plan_.row_blocks;
      const IndexRange rows =
          Block(p_.rows.in, plan_.row_unit, plan_.row_blocks, task % plan_.row_blocks);
      const IndexRange columns =
          Block(p_.columns.in, plan_.column_unit, plan_.column_blocks, column_block);
      if (rows.begin < rows.end && columns.begin < columns.end) {
        RunRegion(image, rows, columns, workspace_ + slot * plan_.slot_bytes);
      }
    });
  }

 private:
  static IndexRange Block(int64_t size, int64_t unit, int64_t blocks, int64_t index) {
    const int64_t units = CeilDivide(size, unit);
    return {PartBegin(units, blocks, index) * unit,
            std::min(size, PartBegin(units, blocks, index + 1) * unit)};
  }

  // A region at hand: its lines are [row - first_row][channel][pitch].
  struct Lines {
    T* data;
    int64_t pitch;
    int64_t first_row;
    int64_t first_column;  // of out_backprop, of element 0; may be negative
    int64_t first_index;   // of a phase
  };

  void RunRegion(int64_t image, IndexRange rows, IndexRange columns, std::byte* scratch) {
    auto* const steps = reinterpret_cast<kernels::GemmStep*>(scratch);
    auto* const offsets = reinterpret_cast<int64_t*>(scratch + plan_.steps_bytes);
    std::byte* const lines_at = scratch + plan_.steps_bytes + plan_.offsets_bytes;
    T* const staging = reinterpret_cast<T*>(lines_at + plan_.lines_bytes);
    Lines lines;
    lines.data = reinterpret_cast<T*>(lines_at);
    lines.first_index = columns.begin / p_.columns.stride;
    lines.first_column = lines.first_index - plan_.most_shift;
    lines.pitch = plan_.LinePitch(CeilDivide(columns.end, p_.columns.stride) - lines.first_index);
    const IndexRange read = ReadRange(p_.rows, rows.begin, rows.end);
    lines.first_row = read.begin;
    for (int64_t row = read.begin; row < read.end; ++row) FillLines(image, row, lines);
    if (!plan_.covers) ZeroFill(image, rows, columns);

    for (size_t a = 0; a < plan_.row_phases.size(); ++a) {
      const Phase& phase = plan_.row_phases[a];
      const IndexRange range = PhaseRange(phase, p_.rows.stride, rows.begin, rows.end);
      for (int64_t i = range.begin; i < range.end;) {
        const Segment segment = SegmentAt(phase, p_.rows.out, i, range.end);
        i = segment.end;
        if (segment.empty()) continue;
        for (size_t b = 0; b < plan_.column_phases.size(); ++b) {
          const IndexRange indices =
              PhaseRange(plan_.column_phases[b], p_.columns.stride, columns.begin, columns.end);
          if (indices.begin >= indices.end) continue;
          RunSegment(static_cast<int64_t>(a), static_cast<int64_t>(b), segment, indices, lines,
                     steps, offsets, staging);
          Scatter(image, a, b, segment, indices, staging);
        }
      }
    }
  }

  // One row of out_backprop, channel by channel, zeros beyond the borders.
  void FillLines(int64_t image, int64_t row, const Lines& lines) {
    T* const to = lines.data + (row - lines.first_row) * p_.out_channels * lines.pitch;
    const int64_t begin = std::clamp<int64_t>(lines.first_column, 0, p_.columns.out);
    const int64_t end =
        std::clamp<int64_t>(lines.first_column + lines.pitch, begin, p_.columns.out);
    const int64_t before = std::min(begin - lines.first_column, lines.pitch);
    for (int64_t k = 0; k < p_.out_channels; ++k) {
      T* const line = to + k * lines.pitch;
      std::fill(line, line + before, T{});
      std::fill(line + before + (end - begin), line + lines.pitch, T{});
    }
    if (p_.layout == Layout::kNchw) {
      const S* from = source_ + (image * p_.out_channels * p_.rows.out + row) * p_.columns.out;
      for (int64_t k = 0; k < p_.out_channels; ++k) {
        kernels::Widen(convert_, from + begin, to + k * lines.pitch + before, end - begin);
        from += p_.rows.out * p_.columns.out;
      }
      return;
    }
    const S* const from =
        source_ + ((image * p_.rows.out + row) * p_.columns.out + begin) * p_.out_channels;
    TurnPixels(plan_.isa, from, end - begin, p_.out_channels, to + before, lines.pitch);
  }

  void ZeroFill(int64_t image, IndexRange rows, IndexRange columns) {
    if (p_.layout == Layout::kNhwc) {
      for (int64_t h = rows.begin; h < rows.end; ++h) {
        S* const to = result_ + (image * p_.rows.in + h) * p_.columns.in * p_.in_channels;
        std::memset(
            static_cast<void*>(to + columns.begin * p_.in_channels), 0,
            static_cast<size_t>((columns.end - columns.begin) * p_.in_channels) * sizeof(S));
      }
      return;
    }
    for (int64_t c = 0; c < p_.in_channels; ++c) {
      for (int64_t h = rows.begin; h < rows.end; ++h) {
        S* const to = result_ + ((image * p_.in_channels + c) * p_.rows.in + h) * p_.columns.in;
        std::memset(static_cast<void*>(to + columns.begin), 0,
                    static_cast<size_t>(columns.end - columns.begin) * sizeof(S));
      }
    }
  }

  // Rows of one row phase that meet the same row taps, all indices of one column phase, to staging
  // [channel][row][index rounded up to whole vectors].
  void RunSegment(int64_t row_phase, int64_t column_phase, const Segment& rows,
                  const IndexRange& indices, const Lines& lines, kernels::GemmStep* steps,
                  int64_t* offsets, T* staging) {
    const Phase& row_taps = plan_.row_phases[row_phase];
    const Phase& column_taps = plan_.column_phases[column_phase];
    const int64_t a_row = p_.out_channels * lines.pitch;
    const int64_t per_row = CeilDivide(indices.end - indices.begin, plan_.lanes);
    const int64_t vectors = (rows.end - rows.begin) * per_row;
    int64_t* const a_offsets = offsets;
    int64_t* const out_offsets = offsets + vectors;
    int64_t n = 0;
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      const int64_t line = (i - row_taps.shift(rows.first_tap) - lines.first_row) * a_row +
                           indices.begin - column_taps.first_shift - lines.first_column;
      for (int64_t v = 0; v < per_row; ++v, ++n) {
        a_offsets[n] = line + v * plan_.lanes;
        out_offsets[n] = n * plan_.lanes;
      }
    }

    StepGeometry geometry;
    geometry.terms = p_.out_channels;
    geometry.chunks = plan_.chunks;
    geometry.a_term = lines.pitch;
    geometry.a_row_tap = -row_taps.shift_step * a_row;
    geometry.a_column_tap = -column_taps.shift_step;
    geometry.phase_row_taps = row_taps.taps;
    geometry.phase_column_taps = column_taps.taps;
    geometry.first_row_tap = rows.first_tap;
    geometry.row_taps = rows.last_tap - rows.first_tap;
    geometry.column_taps = column_taps.taps;
    StepWriter writer(geometry);
    kernels::LanesCall<T> call;
    call.a = lines.data;
    call.a_term = lines.pitch;
    call.out_vector = vectors * plan_.lanes;
    call.steps = steps;
    call.used_lanes = plan_.lanes;
    call.accumulate = false;
    while (!writer.done()) {
      int64_t b_rows = 0;
      call.step_count = writer.Write(INT64_MAX, steps, &b_rows);
      for (int64_t index = 0; index < BlockCount(p_.in_channels); ++index) {
        const dgrad::Block block = BlockAt(p_.in_channels, index);
        call.b = packed_ + plan_.PackedOffset(row_phase, column_phase) +
                 block.first * row_taps.taps * column_taps.taps * p_.out_channels;
        call.out = staging + block.first * call.out_vector;
        const int64_t tiles = CeilDivide(vectors, lanes_.max_rows[block.count]);
        for (int64_t t = 0; t < tiles; ++t) {
          const int64_t begin = PartBegin(vectors, tiles, t);
          call.a_offsets = a_offsets + begin;
          call.out_offsets = out_offsets + begin;
          lanes_.scalars[block.count][PartBegin(vectors, tiles, t + 1) - begin](call);
        }
      }
      call.accumulate = true;
    }
  }

  void Scatter(int64_t image, size_t row_phase, size_t column_phase, const Segment& rows,
               const IndexRange& indices, const T* staging) {
    const Phase& row_taps = plan_.row_phases[row_phase];
    const Phase& column_taps = plan_.column_phases[column_phase];
    const int64_t length = indices.end - indices.begin;
    const int64_t padded = RoundUp(length, plan_.lanes);
    const bool nhwc = p_.layout == Layout::kNhwc;
    const int64_t pixel = nhwc ? p_.in_channels : 1;
    const int64_t step = p_.columns.stride * pixel;
    const int64_t plane = p_.rows.in * p_.columns.in;
    S line[kLine];
    for (int64_t c = 0; c < p_.in_channels; ++c) {
      S* const channel = result_ + image * p_.in_channels * plane + (nhwc ? c : c * plane);
      for (int64_t i = rows.begin; i < rows.end; ++i) {
        const int64_t h = row_taps.residue + i * p_.rows.stride;
        const int64_t w = column_taps.residue + indices.begin * p_.columns.stride;
        S* to = channel + (h * p_.columns.in + w) * pixel;
        const T* from = staging + (c * (rows.end - rows.begin) + i - rows.begin) * padded;
        for (int64_t j = 0; j < length; j += kLine) {
          const int64_t count = std::min(kLine, length - j);
          if (step == 1) {
            kernels::Narrow(convert_, from + j, to + j, count);
          } else if constexpr (std::is_same_v<S, T>) {
            for (int64_t x = 0; x < count; ++x) to[(j + x) * step] = from[j + x];
          } else {
            kernels::Narrow(convert_, from + j, line, count);
            for (int64_t x = 0; x < count; ++x) to[(j + x) * step] = line[x];
          }
        }
      }
    }
  }

  const PixelsPlan& plan_;
  const Problem& p_;
  const kernels::LanesFamily<T>& lanes_;
  const kernels::ConvertFamily& convert_;
  const S* const source_;
  const T* const packed_;
  S* const result_;
  std::byte* const workspace_;
};

}  // namespace

Status PixelsPlan::Run(const void* out_backprop, const void* packed, void* in_backprop,
                       void* workspace, Executor& executor, const Control& control) const {
  const std::byte* const payload = static_cast<const std::byte*>(packed) + kHeaderBytes;
  if (static_cast<const Header*>(packed)->finite == 0) {
    return fallback->Run(out_backprop, payload, in_backprop, workspace, executor, control);
  }
  return WithElementTypes(problem.dtype, [&](auto storage, auto compute) {
    Runner<decltype(storage), decltype(compute)> runner(*this, out_backprop, payload, in_backprop,
                                                        workspace);
    return runner.Run(executor, control);
  });
}

}  // namespace dgrad::pixels
