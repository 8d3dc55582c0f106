// The direct algorithm's products: segments of a region, register tile after register tile.
#ifndef DGRAD_ALGORITHMS_DIRECT_DIRECT_PRODUCTS_H_
#define DGRAD_ALGORITHMS_DIRECT_DIRECT_PRODUCTS_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "src/algorithms/direct/direct_plan.h"
#include "src/algorithms/direct/direct_region.h"
#include "src/algorithms/steps.h"
#include "src/base/integer.h"
#include "src/base/prefetch.h"
#include "src/kernels/gemm/gemm.h"
#include "src/kernels/lanes/lanes.h"
#include "src/threads/partition.h"

namespace dgrad::direct {

template <typename Types>
class Products {
  using Factor = typename Types::Factor;
  using Sum = typename Types::Sum;
  using Out = typename Types::Out;
  using Region = direct::Region<Factor, Out>;
  using Share = direct::Share<Factor>;

 public:
  // `streams`: what is written in one go is written past the caches. packed may be null if all
  // shares bring their block.
  Products(const DirectPlan& plan, const void* packed, bool streams)
      : plan_(plan),
        p_(plan.problem),
        gemm_(Types::Tiles(plan.isa)),
        lanes_(kernels::Lanes<Sum>(plan.isa)),
        packed_(static_cast<const Factor*>(packed)),
        streams_(streams) {}

  // All pixels of the region's share.
  void Run(const Region& region, const Share& share) const {
    const Phase& phase = plan_.row_phases[share.row_phase];
    const IndexRange rows = PhaseRange(phase, p_.rows.stride, region.rows.begin, region.rows.end);
    for (int64_t i = rows.begin; i < rows.end;) {
      const Segment segment = SegmentAt(phase, p_.rows.out, i, rows.end);
      i = segment.end;
      if (!segment.empty()) RunColumns(region, share, segment);
    }
  }

 private:
  void RunColumns(const Region& region, const Share& share, const Segment& rows) const {
    const ColumnGroup& group = share.group;
    const IndexRange columns =
        PhaseRange(group.phase, p_.columns.stride, region.columns.begin, region.columns.end);
    for (int64_t j = columns.begin; j < columns.end;) {
      // The last index of a folded group may lack residues: a segment of its own.
      const int64_t end =
          j < group.full_length ? std::min(columns.end, group.full_length) : columns.end;
      const Segment segment = SegmentAt(group.phase, p_.columns.out, j, end);
      j = segment.end;
      if (segment.empty()) continue;
      int64_t used = group.columns;
      if (segment.begin >= group.full_length) {
        const int64_t first = group.phase.residue + segment.begin * p_.columns.stride;
        used = (p_.columns.in - first) * p_.group_in_channels();
      }
      RunSegment(region, share, rows, segment, used);
    }
  }

  // Pixels of one phase that meet the same taps: one product.
  void RunSegment(const Region& region, const Share& share, const Segment& rows,
                  const Segment& columns, int64_t used) const {
    const Phase& row_taps = plan_.row_phases[share.row_phase];
    const Phase& column_taps = share.group.phase;
    const Range units = share.units;
    const PixelMap& from = region.from;
    const PixelMap& to = region.to;

    // Where each pixel reads its first tap and where it is written.
    int64_t* const a_offsets = region.offsets;
    int64_t* const out_offsets = region.offsets + plan_.pixel_limit;
    const int64_t row_shift = row_taps.shift(rows.first_tap);
    const int64_t column_shift = column_taps.shift(columns.first_tap);
    int64_t pixels = 0;
    for (int64_t n = region.images.begin; n < region.images.end; ++n) {
      for (int64_t i = rows.begin; i < rows.end; ++i) {
        const int64_t a_line = from.At(n, i - row_shift, -column_shift);
        const int64_t out_line =
            to.At(n, row_taps.residue + i * p_.rows.stride, column_taps.residue);
        for (int64_t j = columns.begin; j < columns.end; ++j) {
          a_offsets[pixels] = a_line + j * from.column;
          out_offsets[pixels] = out_line + j * p_.columns.stride * to.column;
          ++pixels;
        }
      }
    }

    StepGeometry geometry;
    geometry.terms = p_.group_out_channels();
    geometry.chunks = plan_.term_chunks;
    geometry.partial_terms = plan_.partial_terms;
    geometry.a_term = plan_.lanes_are_groups ? p_.groups : 1;
    geometry.a_row_tap = -row_taps.shift_step * from.row;
    geometry.a_column_tap = -column_taps.shift_step * from.column;
    geometry.phase_row_taps = row_taps.taps;
    geometry.phase_column_taps = column_taps.taps;
    geometry.first_row_tap = rows.first_tap;
    geometry.first_column_tap = columns.first_tap;
    geometry.row_taps = rows.last_tap - rows.first_tap;
    geometry.column_taps = columns.last_tap - columns.first_tap;
    StepWriter writer(geometry);
    const bool one_flush =
        geometry.terms * geometry.row_taps * geometry.column_taps <= geometry.partial_terms;
    bool accumulate = false;
    while (!writer.done()) {
      int64_t b_rows = 0;
      const int64_t count = writer.Write(plan_.pass_rows, region.steps, &b_rows);
      Product product{region.a,  region.out,  region.steps, count,      pixels,
                      a_offsets, out_offsets, used,         accumulate, streams_ && one_flush};
      // Where the packed filter of all units stays in cache, tiles are outermost: a pixel's
      // channels are read and written in one go. Else the tiles run over one unit's packed filter
      // at a time.
      const bool tiles_outermost =
          b_rows * units.size() * 2 * plan_.lanes * plan_.compute_size <= plan_.shared_filter_bytes;
      const int64_t most_rows = plan_.lanes_are_groups ? lanes_.max_rows[2] : gemm_.max_rows[2];
      const int64_t pixel_step =
          tiles_outermost ? CeilDivide(pixels, CeilDivide(pixels, most_rows)) : pixels;
      for (product.begin = 0; product.begin < pixels; product.begin = product.end) {
        product.end = std::min(pixels, product.begin + pixel_step);
        for (int64_t unit = units.begin; unit < units.end; ++unit) {
          RunUnit(product, unit, unit < units.begin + 2, share);
        }
      }
      accumulate = true;
    }
  }

  // One pass over a segment: the steps, and the pixels [begin, end) at hand.
  struct Product {
    const Factor* a;
    Out* out;
    const kernels::GemmStep* steps;
    int64_t step_count;
    int64_t pixels;
    const int64_t* a_offsets;
    const int64_t* out_offsets;
    int64_t used_columns;
    bool accumulate;
    bool stream;
    int64_t begin = 0;
    int64_t end = 0;
  };

  void RunUnit(const Product& product, int64_t unit, bool prefetch, const Share& share) const {
    const ColumnGroup& group = share.group;
    const int64_t blocks = BlockCount(group.vectors);
    const int64_t channel_group = unit / blocks;
    const Block block = BlockAt(group.vectors, unit % blocks);
    const Factor* const b = share.block != nullptr
                                ? share.block
                                : packed_ +
                                      plan_.PackedOffset(channel_group, share.row_phase, group) +
                                      plan_.BlockElements(share.row_phase, group, block.first);
    if (plan_.lanes_are_groups) {
      RunLanes(product, channel_group, block, b);
    } else {
      const int64_t first = block.first * plan_.lanes;
      if (first >= product.used_columns) return;
      kernels::GemmCall<Out, Factor> call;
      call.a = product.a + channel_group * p_.group_out_channels();
      call.b = b;
      call.out = product.out + channel_group * p_.group_in_channels() + first;
      call.columns = std::min<int64_t>(block.count * plan_.lanes, product.used_columns - first);
      RunTiles(gemm_, call, block.count, product, prefetch);
    }
  }

  void RunLanes(const Product& product, int64_t channel_group, Block block, const Factor* b) const {
    if constexpr (std::is_same_v<Factor, Out>) {
      kernels::LanesCall<Sum> call;
      call.a = product.a + channel_group * plan_.lanes;
      call.a_term = p_.groups;
      call.b = b;
      call.out = product.out + block.first * p_.groups + channel_group * plan_.lanes;
      call.out_vector = p_.groups;
      call.used_lanes = std::min<int64_t>(plan_.lanes, p_.groups - channel_group * plan_.lanes);
      RunTiles(lanes_, call, block.count, product, false);
    }
  }

  // Tiles of nearly equal size: a short tile would leave the multipliers waiting.
  template <typename Family, typename Call>
  void RunTiles(const Family& family, Call& call, int vectors, const Product& product,
                bool prefetch) const {
    call.steps = product.steps;
    call.step_count = product.step_count;
    call.accumulate = product.accumulate;
    if constexpr (requires { call.stream; }) call.stream = product.stream;
    const int64_t pixels = product.end - product.begin;
    const int64_t tiles = CeilDivide(pixels, family.max_rows[vectors]);
    int64_t begin = 0;
    for (int64_t t = 0; t < tiles; ++t) {
      const int64_t end = PartBegin(pixels, tiles, t + 1);
      call.a_offsets = product.a_offsets + product.begin + begin;
      call.out_offsets = product.out_offsets + product.begin + begin;
      if (prefetch) Prefetch(call, vectors, product, product.begin + begin, product.begin + end);
      family.kernels[vectors][end - begin](call);
      begin = end;
    }
  }

  // Hints for the tile of pixels [begin, end): what it writes, and what the next one reads. Twice
  // per tile, by the first two units, since processors drop hints when they are busy.
  // Inlined by force: GCC takes a function that only prefetches for one without effect and drops
  // the call.
  template <typename Call>
  [[gnu::always_inline]] inline void Prefetch(const Call& call, int vectors, const Product& product,
                                              int64_t begin, int64_t end) const {
    constexpr int64_t kInSize = sizeof(Factor);
    constexpr int64_t kOutSize = sizeof(Out);
    for (int64_t r = begin; r < end && !product.stream; ++r) {
      PrefetchForWrite(call.out + product.out_offsets[r], vectors * plan_.lanes * kOutSize);
    }
    const int64_t next = std::min(product.pixels, end + (end - begin));
    for (int64_t r = end; r < next; ++r) {
      PrefetchForRead(call.a + product.a_offsets[r] + call.steps[0].a_offset,
                      call.steps[0].terms * kInSize);
    }
  }

  const DirectPlan& plan_;
  const Problem& p_;
  const kernels::GemmFamily<Out, Factor>& gemm_;
  const kernels::LanesFamily<Sum>& lanes_;
  const Factor* const packed_;
  const bool streams_;
};

}  // namespace dgrad::direct

#endif  // DGRAD_ALGORITHMS_DIRECT_DIRECT_PRODUCTS_H_
