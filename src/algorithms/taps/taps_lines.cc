// Taps as lines at run time: one task per region of one image, row by row of in_backprop.
#include <algorithm>
#include <type_traits>

#include "src/algorithms/blocks.h"
#include "src/algorithms/element_types.h"
#include "src/algorithms/phases.h"
#include "src/algorithms/taps/taps_plan.h"
#include "src/algorithms/taps/taps_region.h"
#include "src/algorithms/turn.h"
#include "src/base/integer.h"
#include "src/kernels/convert/convert.h"
#include "src/kernels/taps/taps.h"
#include "src/threads/partition.h"

namespace dgrad::taps {
namespace {

int64_t Size(const IndexRange& range) { return range.end - range.begin; }

template <typename S, typename T>
class LinesRunner {
 public:
  LinesRunner(const TapsPlan& plan, const void* out_backprop, const void* packed, void* in_backprop,
              void* workspace)
      : plan_(plan),
        p_(plan.problem),
        kernels_(kernels::Taps<T>(plan.isa)),
        convert_(kernels::Convert(plan.isa)),
        source_(static_cast<const S*>(out_backprop)),
        packed_(static_cast<const T*>(packed)),
        result_(static_cast<S*>(in_backprop)),
        workspace_(static_cast<std::byte*>(workspace)) {}

  Status Run(Executor& executor, const Control& control) {
    return RunTasks(executor, plan_.slots, RegionCount(plan_), control, [&](int slot, int64_t i) {
      const auto region = RegionAt<T>(plan_, i, workspace_ + slot * plan_.slot_bytes);
      ForRows(
          plan_, region, [&](int64_t row, const IndexRange& taps) { Multiply(region, row, taps); },
          [&](int64_t h) { Sum(region, h); });
    });
  }

 private:
  using Region = taps::Region<T>;

  // The line of column 0 of a plane and row of out_backprop, its element of columns.begin.
  T* LineAt(const Region& region, int64_t row, int64_t column) const {
    return region.ring + row % plan_.ring * plan_.ring_row() + column * plan_.line_pitch() +
           plan_.line_margin();
  }

  // A row of out_backprop as planes that may be read by whole vectors: in place if it can be.
  const T* Planes(const Region& region, int64_t row, int64_t* pitch) {
    const int64_t count = Size(region.columns);
    const int64_t plane = p_.rows.out * p_.columns.out;
    const int64_t pixel = row * p_.columns.out + region.columns.begin;
    *pitch = plan_.source_pitch();
    if (p_.layout == Layout::kNchw) {
      const int64_t first = region.image * p_.out_channels * plane + pixel;
      if constexpr (std::is_same_v<S, T>) {
        const int64_t end = first + (p_.out_channels - 1) * plane + RoundUp(count, plan_.lanes);
        if (plan_.reads_planes() && end <= p_.out_backprop_elements()) {
          *pitch = plane;
          return source_ + first;
        }
      }
      for (int64_t k = 0; k < p_.out_channels; ++k) {
        kernels::Widen(convert_, source_ + first + k * plane, region.line + k * *pitch, count);
      }
      return region.line;
    }
    const S* const from = source_ + (region.image * plane + pixel) * p_.out_channels;
    TurnPixels(plan_.isa, from, count, p_.out_channels, region.line, *pitch);
    return region.line;
  }

  // One row of out_backprop by the taps that fall into the region.
  void Multiply(const Region& region, int64_t row, const IndexRange& taps) {
    kernels::TapsProductCall<T> call;
    const T* const planes = Planes(region, row, &call.b_term);
    const int64_t count = Size(region.columns);
    const int64_t vectors = CeilDivide(count, plan_.lanes);
    for (int64_t v = 0; v < BlockCount(vectors); ++v) {
      const Block block = BlockAt(vectors, v);
      call.b = planes + block.first * plan_.lanes;
      for (int64_t plane = 0; plane < plan_.planes; ++plane) {
        const int64_t first = plane * plan_.plane_columns;
        MultiplyBlock(region, call, row, block,
                      {first + taps.begin * p_.columns.taps, first + taps.end * p_.columns.taps});
      }
    }
    // What shifted vectors find before and behind the columns.
    const int64_t behind = region.groups.end - region.columns.begin;
    for (int64_t plane = 0; plane < plan_.planes; ++plane) {
      for (int64_t i = taps.begin * p_.columns.taps; i < taps.end * p_.columns.taps; ++i) {
        T* const line = LineAt(region, row, plane * plan_.plane_columns + i);
        std::fill(line - (plan_.overlap - 1), line, T{});
        for (int64_t x = count; x < behind; ++x) line[x] = T{};
      }
    }
  }

  // Vectors of a block by columns of the packed filter.
  void MultiplyBlock(const Region& region, kernels::TapsProductCall<T> call, int64_t row,
                     const Block& block, const IndexRange& columns) {
    const T* const b = call.b;
    const int64_t total = plan_.planes * plan_.plane_columns;
    const int64_t width = block.count * plan_.lanes;
    call.a_row = 1;
    call.a_term = total;
    call.out_row = plan_.line_pitch();
    const int64_t tiles = CeilDivide(Size(columns), kernels_.max_rows[block.count]);
    for (int64_t t = 0; t < tiles; ++t) {
      const IndexRange tile = {columns.begin + PartBegin(Size(columns), tiles, t),
                               columns.begin + PartBegin(Size(columns), tiles, t + 1)};
      call.out = LineAt(region, row, tile.begin) + block.first * plan_.lanes;
      call.accumulate = false;
      for (int64_t chunk = 0; chunk < plan_.chunks; ++chunk) {
        const IndexRange terms = PartAt(p_.out_channels, plan_.chunks, chunk);
        call.a = packed_ + terms.begin * total + tile.begin;
        call.b = b + terms.begin * call.b_term;
        call.terms = Size(terms);
        // Tiles take turns with the vectors of the next block.
        call.ahead = call.b + width + t % block.count * plan_.lanes;
        call.ahead_step = call.b_term;
        kernels_.products[block.count][Size(tile)](call);
        call.accumulate = true;
      }
    }
  }

  // One row of in_backprop from the lines kept.
  void Sum(const Region& region, int64_t h) {
    for (int64_t plane = 0; plane < plan_.planes; ++plane) {
      kernels::TapsSumCall<T> call;
      call.sources = 0;
      ForRowTaps(p_.rows, h, [&](int64_t tap, int64_t row) {
        const int64_t first = plane * plan_.plane_columns + tap * p_.columns.taps;
        for (int64_t k = 0; k < p_.columns.taps; ++k) {
          region.sources[call.sources++] =
              LineAt(region, row, first + k) + region.groups.begin - k - region.columns.begin;
        }
      });
      call.source = region.sources;
      call.whole = call.sources;
      call.width = call.rest = call.source_step = plan_.lanes;
      call.groups = CeilDivide(Size(region.groups), plan_.lanes);
      call.out = region.row;
      kernels_.sum(call);
      const int64_t origin = region.groups.begin - p_.columns.pad_before;
      const int64_t begin = std::max<int64_t>(origin, 0);
      const int64_t end = std::min(region.groups.end - p_.columns.pad_before, p_.columns.in);
      S* const to = result_ +
                    ((region.image * plan_.planes + plane) * p_.rows.in + h) * p_.columns.in +
                    begin;
      kernels::Narrow(convert_, region.row + (begin - origin), to, end - begin);
    }
  }

  const TapsPlan& plan_;
  const Problem& p_;
  const kernels::TapsFamily<T>& kernels_;
  const kernels::ConvertFamily& convert_;
  const S* const source_;
  const T* const packed_;
  S* const result_;
  std::byte* const workspace_;
};

}  // namespace

Status RunLines(const TapsPlan& plan, const void* out_backprop, const void* packed,
                void* in_backprop, void* workspace, Executor& executor, const Control& control) {
  return WithElementTypes(plan.problem.dtype, [&](auto storage, auto compute) {
    LinesRunner<decltype(storage), decltype(compute)> runner(plan, out_backprop, packed,
                                                             in_backprop, workspace);
    return runner.Run(executor, control);
  });
}

}  // namespace dgrad::taps
