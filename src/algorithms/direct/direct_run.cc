// The direct algorithm at run time: convert a band, then one task per region.
#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>

#include "src/algorithms/direct/direct_plan.h"
#include "src/algorithms/direct/direct_products.h"
#include "src/algorithms/direct/direct_region.h"
#include "src/algorithms/direct/gaps.h"
#include "src/algorithms/direct/pack_block.h"
#include "src/algorithms/direct/pair_planes.h"
#include "src/algorithms/streaming.h"
#include "src/algorithms/tensor_mover.h"
#include "src/base/integer.h"
#include "src/kernels/gemm/gemm.h"
#include "src/kernels/lanes/lanes.h"
#include "src/threads/partition.h"

namespace dgrad::direct {
namespace {

template <typename Types>
class Runner {
  using Source = typename Types::Source;
  using Factor = typename Types::Factor;
  using Sum = typename Types::Sum;
  using Out = typename Types::Out;
  using Result = typename Types::Result;
  using Region = direct::Region<Factor, Out>;

  static constexpr int64_t kLeastGap = 256;  // bytes

 public:
  // Either packed or filter is null.
  Runner(const DirectPlan& plan, const void* out_backprop, const void* packed, const void* filter,
         void* in_backprop, void* workspace)
      : plan_(plan),
        p_(plan.problem),
        streams_(!plan.lanes_are_groups && StreamsResult(plan.problem, in_backprop)),
        mover_(plan.problem, plan.isa, plan.lanes_are_groups, plan.lanes_are_groups, streams_),
        streams_in_place_(streams_ && !plan.stages_out && p_.layout == Layout::kNhwc),
        products_(plan, packed, streams_in_place_),
        source_(static_cast<const Source*>(out_backprop)),
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
    region.steps = reinterpret_cast<kernels::GemmStep*>(take(plan_.steps_bytes));
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
          products_.Run(region, {a, group, units});
          continue;
        }
        for (int64_t unit = units.begin; unit < units.end; ++unit) {
          PackUnit(a, group, unit, region.block);
          products_.Run(region, {a, group, {unit, unit + 1}, region.block});
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
                   if (streams_in_place_) {
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
  const bool streams_;  // the result is written past the caches where that can be
  const TensorMover<Result, Sum> mover_;
  const bool streams_in_place_;  // and not through scratch
  const Products<Types> products_;
  const Source* const source_;
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
