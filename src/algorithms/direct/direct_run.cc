// The direct algorithm at run time: convert a band, then one task per region.
#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>

#include "src/algorithms/direct/direct_plan.h"
#include "src/algorithms/direct/gaps.h"
#include "src/algorithms/direct/pack_block.h"
#include "src/algorithms/direct/pair_planes.h"
#include "src/algorithms/steps.h"
#include "src/algorithms/streaming.h"
#include "src/algorithms/tensor_mover.h"
#include "src/base/integer.h"
#include "src/base/prefetch.h"
#include "src/kernels/gemm/gemm.h"
#include "src/kernels/lanes/lanes.h"
#include "src/threads/partition.h"

namespace dgrad::direct {
namespace {

using kernels::GemmStep;

struct Range {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size() const { return end - begin; }
};

// Block `index` of `blocks` of [range), borders at multiples of unit from its beginning.
Range BlockOf(Range range, int64_t unit, int64_t blocks, int64_t index) {
  const int64_t units = CeilDivide(range.size(), unit);
  if (index >= units) return {range.end, range.end};
  blocks = std::min(blocks, units);
  if (index >= blocks) return {range.end, range.end};
  return {range.begin + PartBegin(units, blocks, index) * unit,
          std::min(range.end, range.begin + PartBegin(units, blocks, index + 1) * unit)};
}

// Where a pixel of out_backprop or of the result lies, elements.
struct PixelMap {
  int64_t image = 0, row = 0, column = 0;
  int64_t offset = 0;

  // Of pixels that lie side by side, beginning with those given.
  static PixelMap Box(int64_t rows, int64_t columns, int64_t channels, int64_t first_image,
                      int64_t first_row, int64_t first_column) {
    PixelMap map = {rows * columns * channels, columns * channels, channels, 0};
    map.offset = -map.At(first_image, first_row, first_column);
    return map;
  }
  int64_t At(int64_t n, int64_t h, int64_t w) const {
    return offset + n * image + h * row + w * column;
  }
};

// What a task of a band computes, and from where to where.
template <typename Factor, typename Out>
struct Region {
  Range images, rows, columns;
  int64_t channel_block = 0;
  const Factor* a = nullptr;
  PixelMap from;
  Out* out = nullptr;
  PixelMap to;
  GemmStep* steps = nullptr;
  int64_t* offsets = nullptr;
  Factor* block = nullptr;  // where a task packs a block of columns itself
};

// Of a region: one row phase, one column group, and some of its units (blocks of columns, channel
// group after channel group).
template <typename Factor>
struct Share {
  int64_t row_phase;
  const ColumnGroup& group;
  Range units;
  const Factor* block =
      nullptr;  // the packed filter of the only unit, unless it lies in the whole one
};

template <typename Types>
class Runner {
  using Source = typename Types::Source;
  using Factor = typename Types::Factor;
  using Sum = typename Types::Sum;
  using Out = typename Types::Out;
  using Result = typename Types::Result;
  using Region = direct::Region<Factor, Out>;
  using Share = direct::Share<Factor>;

  static constexpr int64_t kLeastGap = 256;  // bytes

 public:
  // Either packed or filter is null.
  Runner(const DirectPlan& plan, const void* out_backprop, const void* packed, const void* filter,
         void* in_backprop, void* workspace)
      : plan_(plan),
        p_(plan.problem),
        gemm_(Types::Tiles(plan.isa)),
        lanes_(kernels::Lanes<Sum>(plan.isa)),
        streams_(!plan.lanes_are_groups && StreamsResult(plan.problem, in_backprop)),
        mover_(plan.problem, plan.isa, plan.lanes_are_groups, plan.lanes_are_groups, streams_),
        source_(static_cast<const Source*>(out_backprop)),
        packed_(static_cast<const Factor*>(packed)),
        filter_(static_cast<const Source*>(filter)),
        result_(static_cast<Result*>(in_backprop)),
        workspace_(static_cast<std::byte*>(workspace)),
        fills_gaps_(!plan.covers && !plan.stages_out && !plan.row_phases.empty() &&
                    plan.problem.in_channels * SizeOf(plan.problem.dtype) >= kLeastGap) {}

  Status Run(Executor& executor, const Control& control) {
    if (!plan_.covers && !plan_.stages_out && !fills_gaps_) {
      DGRAD_RETURN_IF_ERROR(ZeroFill(executor, control));
    }
    if (plan_.row_phases.empty()) return {};  // no tap lands anywhere
    for (int64_t n = 0; n < p_.batch; n += plan_.band_images) {
      const Range images = {n, std::min(p_.batch, n + plan_.band_images)};
      for (int64_t band = 0; band < plan_.row_bands; ++band) {
        const Range rows = {PartBegin(p_.rows.in, plan_.row_bands, band),
                            PartBegin(p_.rows.in, plan_.row_bands, band + 1)};
        DGRAD_RETURN_IF_ERROR(RunBand(images, rows, executor, control));
      }
    }
    return {};
  }

 private:
  // All is +0: pixels that no tap meets remain so.
  Status ZeroFill(Executor& executor, const Control& control) {
    constexpr int64_t kPiece = int64_t{1} << 20;
    const int64_t bytes = p_.in_backprop_bytes();
    auto* const to = reinterpret_cast<std::byte*>(result_);
    return RunTasks(executor, bytes < kPiece ? 1 : plan_.slots, CeilDivide(bytes, kPiece), control,
                    [&](int, int64_t i) {
                      std::memset(to + i * kPiece, 0,
                                  static_cast<size_t>(std::min(kPiece, bytes - i * kPiece)));
                    });
  }

  Status RunBand(Range images, Range rows, Executor& executor, const Control& control) {
    images_ = images;
    rows_ = rows;
    const IndexRange read = ReadRange(p_.rows, rows.begin, rows.end);
    read_ = {read.begin, std::max(read.begin, read.end)};
    if (plan_.converts_in && !plan_.converts_per_task) {
      DGRAD_RETURN_IF_ERROR(ConvertBand(executor, control));
    }
    const int64_t tasks =
        plan_.image_blocks * plan_.row_blocks * plan_.column_blocks * plan_.channel_blocks;
    return RunTasks(executor, plan_.slots, tasks, control, [&](int slot, int64_t task) {
      // Channel blocks of one region are neighbours in time: they read the same out_backprop.
      Region region;
      region.channel_block = task % plan_.channel_blocks;
      task /= plan_.channel_blocks;
      region.columns = BlockOf({0, p_.columns.in}, plan_.column_unit, plan_.column_blocks,
                               task % plan_.column_blocks);
      task /= plan_.column_blocks;
      region.rows = BlockOf(rows_, plan_.row_unit, plan_.row_blocks, task % plan_.row_blocks);
      region.images = BlockOf(images_, 1, plan_.image_blocks, task / plan_.row_blocks);
      if (region.images.size() > 0 && region.rows.size() > 0 && region.columns.size() > 0) {
        RunRegion(region, workspace_ + plan_.converted_bytes + slot * plan_.slot_bytes);
      }
    });
  }

  // out_backprop of the band as [image][row][column][channel] of the compute type.
  Status ConvertBand(Executor& executor, const Control& control) {
    Factor* const to = reinterpret_cast<Factor*>(workspace_);
    const int64_t row_elements = p_.columns.out * plan_.input_pitch;
    const int64_t image_elements = read_.size() * row_elements;
    if (image_elements == 0) return {};
    // Rows are grouped so that a task has some 64 KiB to write.
    const int64_t group =
        std::clamp<int64_t>((64 << 10) / (row_elements * plan_.compute_size), 1, read_.size());
    const int64_t groups = CeilDivide(read_.size(), group);
    return RunTasks(
        executor, plan_.slots, images_.size() * groups, control, [&](int, int64_t task) {
          const int64_t image = task / groups;
          const int64_t begin = task % groups * group;
          const int64_t end = std::min(read_.size(), begin + group);
          Convert(
              {images_.begin + image, read_.begin + begin, read_.begin + end, 0, p_.columns.out},
              to + image * image_elements + begin * row_elements);
        });
  }

  void Convert(const PixelBox& box, Factor* to) const {
    if constexpr (std::is_same_v<Source, Result>) {
      mover_.Convert(source_, box, to, plan_.input_pitch);
    } else {
      const auto* const elements = reinterpret_cast<const BFloat16*>(source_);
      if (p_.layout == Layout::kNhwc) {
        PairsFromNhwc(p_, plan_.out_elements, elements, box, to, plan_.input_pitch);
      } else {
        PairsFromNchw(p_, plan_.out_elements, plan_.isa, elements, box, to, plan_.input_pitch);
      }
    }
  }

  // Units of a task.
  Range Units(int64_t blocks, int64_t channel_block) const {
    const int64_t units = plan_.channel_groups * blocks;
    return {PartBegin(units, plan_.channel_blocks, channel_block),
            PartBegin(units, plan_.channel_blocks, channel_block + 1)};
  }

  // Channels of in_backprop of a task whose results are staged (then nothing is folded, and every
  // column group has the same blocks).
  Range Channels(int64_t channel_block) const {
    if (plan_.channel_blocks == 1) return {0, p_.in_channels};
    const int64_t vectors = plan_.column_groups[0].vectors;
    const int64_t blocks = BlockCount(vectors);
    const auto first_channel = [&](int64_t unit) {
      if (unit == p_.groups * blocks) return p_.in_channels;
      return unit / blocks * p_.group_in_channels() +
             BlockAt(vectors, unit % blocks).first * plan_.lanes;
    };
    const Range units = Units(blocks, channel_block);
    return {first_channel(units.begin), first_channel(units.end)};
  }

  void RunRegion(Region& region, std::byte* scratch) {
    const auto take = [&](int64_t bytes) {
      std::byte* const begin = scratch;
      scratch += bytes;
      return begin;
    };
    region.steps = reinterpret_cast<GemmStep*>(take(plan_.steps_bytes));
    region.offsets = reinterpret_cast<int64_t*>(take(plan_.offsets_bytes));
    Factor* const input = reinterpret_cast<Factor*>(take(plan_.task_input_bytes));
    region.block = reinterpret_cast<Factor*>(take(plan_.task_filter_bytes));
    Sum* const staging = reinterpret_cast<Sum*>(scratch);
    Range channels;
    if (plan_.stages_out) {
      channels = Channels(region.channel_block);
      if (channels.size() == 0) return;
      region.to = PixelMap::Box(region.rows.size(), region.columns.size(), channels.size(),
                                region.images.begin, region.rows.begin, region.columns.begin);
      region.to.offset -= channels.begin;
      if (!plan_.covers) {
        const int64_t elements = region.images.size() * region.to.image;
        std::memset(staging, 0, static_cast<size_t>(elements) * sizeof(Sum));
      }
      if constexpr (std::is_same_v<Sum, Out>) region.out = staging;
    } else {
      region.to = PixelMap::Box(p_.rows.in, p_.columns.in, p_.in_channels, 0, 0, 0);
      if constexpr (std::is_same_v<Result, Out>) region.out = result_;
    }
    if (plan_.converts_per_task) {
      ConvertRegion(region, input);
    } else if (plan_.converts_in) {
      region.a = reinterpret_cast<const Factor*>(workspace_);
      region.from = PixelMap::Box(read_.size(), p_.columns.out, plan_.input_pitch, images_.begin,
                                  read_.begin, 0);
    } else {
      region.from = PixelMap::Box(p_.rows.out, p_.columns.out, p_.out_channels, 0, 0, 0);
      if constexpr (std::is_same_v<Source, Factor>) region.a = source_;
    }
    if (fills_gaps_ && region.channel_block == 0) FillGaps(region);
    const int64_t row_phases = static_cast<int64_t>(plan_.row_phases.size());
    for (int64_t a = 0; a < row_phases; ++a) {
      for (const ColumnGroup& group : plan_.column_groups) {
        const Range units = Units(BlockCount(group.vectors), region.channel_block);
        if (filter_ == nullptr) {
          RunRows(region, {a, group, units});
          continue;
        }
        for (int64_t unit = units.begin; unit < units.end; ++unit) {
          PackUnit(a, group, unit, region.block);
          RunRows(region, {a, group, {unit, unit + 1}, region.block});
        }
      }
    }
    if (plan_.stages_out) Unstage(region, channels, staging);
    if (streams_) FenceStreams();
  }

  // All channels of the pixels that no tap meets.
  void FillGaps(const Region& region) const {
    ForEachGap(plan_, {region.rows.begin, region.rows.end},
               {region.columns.begin, region.columns.end},
               [&](int64_t row, int64_t begin, int64_t end) {
                 for (int64_t n = region.images.begin; n < region.images.end; ++n) {
                   Result* const to = result_ + region.to.At(n, row, begin);
                   const int64_t bytes =
                       (end - begin) * p_.in_channels * static_cast<int64_t>(sizeof(Result));
                   if (streams_) {
                     StreamZeros(to, bytes);
                   } else {
                     std::memset(to, 0, static_cast<size_t>(bytes));
                   }
                 }
               });
  }

  // What the region reads of out_backprop.
  void ConvertRegion(Region& region, Factor* input) {
    const IndexRange rows = ReadRange(p_.rows, region.rows.begin, region.rows.end);
    const IndexRange columns = ReadRange(p_.columns, region.columns.begin, region.columns.end);
    if (rows.begin >= rows.end || columns.begin >= columns.end) return;  // nor will it be read
    region.a = input;
    region.from = PixelMap::Box(rows.end - rows.begin, columns.end - columns.begin,
                                plan_.input_pitch, region.images.begin, rows.begin, columns.begin);
    for (int64_t n = region.images.begin; n < region.images.end; ++n) {
      Convert({n, rows.begin, rows.end, columns.begin, columns.end}, input);
      input += region.from.image;
    }
  }

  void PackUnit(int64_t row_phase, const ColumnGroup& group, int64_t unit, Factor* to) const {
    const int64_t blocks = BlockCount(group.vectors);
    PackBlock(plan_, filter_, unit / blocks, plan_.row_phases[row_phase], group,
              BlockAt(group.vectors, unit % blocks), to);
  }

  void RunRows(const Region& region, const Share& share) {
    const Phase& phase = plan_.row_phases[share.row_phase];
    const IndexRange rows = PhaseRange(phase, p_.rows.stride, region.rows.begin, region.rows.end);
    for (int64_t i = rows.begin; i < rows.end;) {
      const Segment segment = SegmentAt(phase, p_.rows.out, i, rows.end);
      i = segment.end;
      if (!segment.empty()) RunColumns(region, share, segment);
    }
  }

  void RunColumns(const Region& region, const Share& share, const Segment& rows) {
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
                  const Segment& columns, int64_t used) {
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
      Product product{region.a,     region.out,
                      region.steps, count,
                      pixels,       a_offsets,
                      out_offsets,  used,
                      accumulate,   streams_ && !plan_.stages_out && one_flush};
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
    const GemmStep* steps;
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

  // Scratch [image][row][column][channel] to the result.
  void Unstage(const Region& region, Range channels, const Sum* staging) const {
    for (int64_t n = region.images.begin; n < region.images.end; ++n) {
      mover_.Unstage(
          staging,
          {n, region.rows.begin, region.rows.end, region.columns.begin, region.columns.end},
          channels.begin, channels.end, result_);
      staging += region.to.image;
    }
  }

  const DirectPlan& plan_;
  const Problem& p_;
  const kernels::GemmFamily<Out, Factor>& gemm_;
  const kernels::LanesFamily<Sum>& lanes_;
  const bool streams_;  // the result is written past the caches where that can be
  const TensorMover<Result, Sum> mover_;
  const Source* const source_;
  const Factor* const packed_;
  const Source* const filter_;
  Result* const result_;
  std::byte* const workspace_;
  // Tasks write the zeros of pixels that no tap meets; small pixels are quicker cleared before.
  const bool fills_gaps_;
  // The band at hand.
  Range images_, rows_, read_;
};

}  // namespace

Status DirectPlan::Run(const void* out_backprop, const void* packed, void* in_backprop,
                       void* workspace, Executor& executor, const Control& control) const {
  return WithTypes(*this, [&](auto types) {
    Runner<decltype(types)> runner(*this, out_backprop, packed, nullptr, in_backprop, workspace);
    return runner.Run(executor, control);
  });
}

Status DirectPlan::RunUnpacked(const void* out_backprop, const void* filter, void* in_backprop,
                               void* workspace, Executor& executor, const Control& control) const {
  return WithTypes(*this, [&](auto types) {
    Runner<decltype(types)> runner(*this, out_backprop, nullptr, filter, in_backprop, workspace);
    return runner.Run(executor, control);
  });
}

std::string DirectPlan::Describe() const {
  std::string text;
  text += "phases: " + std::to_string(row_phases.size()) + " of rows, " +
          std::to_string(column_groups.size()) + " groups of columns";
  for (const ColumnGroup& group : column_groups) {
    if (group.fold > 1) {
      text += " (the first folds " + std::to_string(group.fold) + ")";
      break;
    }
  }
  text += "\ntasks: " + std::to_string(image_blocks) + " image x " + std::to_string(row_blocks) +
          " row x " + std::to_string(column_blocks) + " column x " +
          std::to_string(channel_blocks) + " channel blocks";
  // The same sizes for every type.
  const int rows = lanes_are_groups ? kernels::Lanes<float>(isa).max_rows[2]
                                    : kernels::Gemm<float>(isa).max_rows[2];
  text += "\ntiles: up to " + std::to_string(rows) + " pixels x 2 vectors of " +
          std::to_string(lanes) + (lanes_are_groups ? " groups" : " channels");
  if (terms_are_pairs) text += "\nproducts are of pairs of bfloat16, by AVX512_BF16";
  if (converts_per_task) {
    text += "\nout_backprop is converted task by task";
  } else if (converts_in) {
    text += "\nout_backprop is converted in bands of " + std::to_string(band_images) +
            " images x " + std::to_string(band_read_rows) + " rows";
  }
  if (input_pitch > problem.out_channels) text += ", its pixels spread over the sets of a cache";
  if (packs_in_run) text += "\na filter that is not packed is packed by the tasks";
  if (stages_out) text += "\nresults are staged in scratch memory";
  if (!covers) text += "\npixels that no tap meets are filled with zeros";
  return text + "\n";
}

}  // namespace dgrad::direct
