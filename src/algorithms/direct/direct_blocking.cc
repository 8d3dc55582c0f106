// How the direct algorithm cuts its work: bands, tasks, scratch. Values never depend on it: every
// element's sum has the order that its own taps give.
#include <algorithm>
#include <string>

#include "src/algorithms/direct/direct_plan.h"
#include "src/base/cache_size.h"
#include "src/base/integer.h"
#include "src/kernels/gemm/gemm.h"

namespace dgrad::direct {
namespace {

constexpr double kTaskWork = 1e8;       // multiply-adds: a cancelled run ends within milliseconds
constexpr double kLeastTaskWork = 1e5;  // below, handing a task over costs more than it brings
constexpr int64_t kGoodPixels = 112;    // enough tiles to pay for reading the packed filter
constexpr int64_t kFewPixels = 28;      // two tiles

// One dimension of a band cut into blocks whose borders are multiples of `unit`.
struct Cut {
  int64_t size;
  int64_t unit;
  int64_t* blocks;

  int64_t units() const { return CeilDivide(size, unit); }
  int64_t largest() const { return std::min(size, CeilDivide(units(), *blocks) * unit); }
  bool can_split() const { return *blocks < units(); }
  void Split() const { *blocks = std::min(*blocks * 2, units()); }
};

struct Grid {
  Cut images, rows, columns;
  int64_t row_stride, column_stride;

  int64_t pixels() const {  // of one phase in the largest region
    return images.largest() * CeilDivide(rows.largest(), row_stride) *
           CeilDivide(columns.largest(), column_stride);
  }
  int64_t results() const { return images.largest() * rows.largest() * columns.largest(); }
  int64_t tasks() const { return *images.blocks * *rows.blocks * *columns.blocks; }
  bool can_split() const { return images.can_split() || rows.can_split() || columns.can_split(); }
  void Split() const {
    if (images.can_split()) return images.Split();
    if (rows.can_split()) return rows.Split();
    columns.Split();
  }
};

struct Tasks {
  Grid grid;
  int64_t least_blocks;  // of channels, that can be shared out
  int64_t most_vectors;  // of a column group
};

// Bands of converted out_backprop that stay in the last cache, as far as their overlap allows.
void ChooseBands(const PlanContext& context, DirectPlan* plan) {
  const Problem& p = plan->problem;
  // Widened, a tensor may have more bytes than an address can count.
  const int64_t row_bytes =
      SaturatingMultiply(p.columns.out * plan->input_pitch, plan->compute_size);
  const int64_t image_bytes = SaturatingMultiply(p.rows.out, row_bytes);
  const int64_t cached = std::clamp<int64_t>(GetCacheSizes().l3 / 4, 4 << 20, 32 << 20);
  const int64_t wanted = std::min(context.workspace_limit / 2, cached);
  if (image_bytes <= wanted) {
    plan->band_images = std::min(p.batch, wanted / std::max<int64_t>(image_bytes, 1));
  } else {
    plan->band_images = 1;
    while (plan->row_bands < p.rows.in) {
      const int64_t bytes = SaturatingMultiply(plan->band_read_rows, row_bytes);
      if (bytes <= wanted) break;
      const int64_t bands = std::min(plan->row_bands * 2, p.rows.in);
      const int64_t read_rows = MostRead(p.rows, CeilDivide(p.rows.in, bands));
      // Rows that neighbouring bands both read are converted twice.
      const bool wasteful = static_cast<double>(bands) * static_cast<double>(read_rows) >
                            2 * static_cast<double>(p.rows.out) + static_cast<double>(bands);
      if (wasteful && bytes <= context.workspace_limit / 2) break;
      plan->row_bands = bands;
      plan->band_read_rows = read_rows;
    }
  }
  plan->converted_bytes =
      RoundUp(std::min(SaturatingMultiply(plan->band_images * plan->band_read_rows, row_bytes),
                       INT64_MAX / 4),
              64);
}

// Finer cuts of one dimension that let all threads end together: with a few tasks a thread, what
// the last ones wait for is the largest task times the most tasks of a thread.
void Balance(int threads, int64_t least_blocks, Grid& grid, int64_t* channel_blocks) {
  constexpr double kGain = 0.97;  // else the coarser cut is better
  constexpr int64_t kMostCuts = 512;
  Cut channels = {least_blocks, 1, channel_blocks};
  const auto longest = [&] {
    return static_cast<double>(CeilDivide(grid.tasks() * *channel_blocks, threads)) *
           static_cast<double>(grid.results()) * static_cast<double>(channels.largest());
  };
  double best = longest() * kGain;
  int64_t* cut = nullptr;
  int64_t blocks = 0;
  for (Cut* dimension : {&grid.images, &grid.rows, &grid.columns, &channels}) {
    const int64_t before = *dimension->blocks;
    const int64_t last = std::min({dimension->units(), 4 * before, before + kMostCuts});
    for (int64_t b = before + 1; b <= last; ++b) {
      *dimension->blocks = b;
      if (grid.pixels() < kFewPixels) break;
      const double time = longest();
      if (time >= best) continue;
      best = time;
      cut = dimension->blocks;
      blocks = b;
    }
    *dimension->blocks = before;
  }
  if (cut != nullptr) *cut = blocks;
}

// Cuts a band into the tasks' regions.
Tasks CutBand(const PlanContext& context, DirectPlan* plan) {
  const Problem& p = plan->problem;
  plan->image_blocks = plan->row_blocks = plan->column_blocks = plan->channel_blocks = 1;
  const int64_t l2 = GetCacheSizes().l2;
  const int64_t band_rows = CeilDivide(p.rows.in, plan->row_bands);
  const auto unit = [](int64_t size, int64_t stride) {
    return stride <= 64 && size / stride >= 8 ? stride : 1;
  };
  plan->row_unit = unit(band_rows, p.rows.stride);
  plan->column_unit = unit(p.columns.in, p.columns.stride);
  int64_t least_blocks = plan->channel_groups;  // of channels
  int64_t most_vectors = 1;
  for (const ColumnGroup& group : plan->column_groups) {
    if (group.fold > 1) plan->column_unit = p.columns.stride;
    const int64_t blocks = plan->channel_groups * BlockCount(group.vectors);
    least_blocks = &group == plan->column_groups.data() ? blocks : std::min(least_blocks, blocks);
    most_vectors = std::max(most_vectors, group.vectors);
  }

  // Staged results of a task are neighbouring channels, which those of a grouped task are not.
  if (plan->lanes_are_groups && plan->stages_out) least_blocks = 1;

  Grid grid = {{plan->band_images, 1, &plan->image_blocks},
               {band_rows, plan->row_unit, &plan->row_blocks},
               {p.columns.in, plan->column_unit, &plan->column_blocks},
               p.rows.stride,
               p.columns.stride};
  // Bytes of a pixel of a phase: what it reads; grouped also what its phases write, since there the
  // sums are short.
  const double pixel_results = plan->lanes_are_groups
                                   ? static_cast<double>(p.in_channels) *
                                         std::min(64.0, static_cast<double>(p.rows.stride)) *
                                         std::min(64.0, static_cast<double>(p.columns.stride))
                                   : 0.0;
  const auto pixel_bytes =
      static_cast<int64_t>((static_cast<double>(p.out_channels) + pixel_results) *
                               static_cast<double>(plan->compute_size) +
                           1);
  const int64_t pixel_limit = std::clamp<int64_t>(l2 / 2 / pixel_bytes, kGoodPixels, kMaxPixels);
  const int64_t result_limit = std::max<int64_t>(1, (int64_t{64} << 20) / p.in_channels);
  while (grid.can_split() && (grid.pixels() > pixel_limit || grid.results() > result_limit)) {
    grid.Split();
  }
  // Staged results share the cache with all else.
  const auto staged_bytes = [&] {
    return SaturatingMultiply(grid.results() * CeilDivide(p.in_channels, plan->channel_blocks),
                              plan->compute_size);
  };
  while (plan->stages_out && staged_bytes() > l2 / 4) {
    if (grid.pixels() < 2 * kGoodPixels && plan->channel_blocks * 2 <= least_blocks) {
      plan->channel_blocks *= 2;
    } else if (grid.can_split()) {
      grid.Split();
    } else {
      break;
    }
  }

  const double work = p.multiply_adds() * static_cast<double>(plan->band_images) /
                      static_cast<double>(std::max<int64_t>(1, p.batch * plan->row_bands));
  const double wanted =
      std::max(context.threads > 1 ? 4.0 * context.threads : 1.0, work / kTaskWork);
  for (;;) {
    const double tasks = static_cast<double>(grid.tasks() * plan->channel_blocks);
    if (tasks >= wanted || work / tasks < 2 * kLeastTaskWork) break;
    // Pixels first, then channels, then pixels again although tiles and reuse suffer.
    const bool split_channels = plan->channel_blocks * 2 <= least_blocks;
    if (grid.can_split() && grid.pixels() >= 2 * (split_channels ? kGoodPixels : kFewPixels)) {
      grid.Split();
    } else if (split_channels) {
      plan->channel_blocks *= 2;
    } else {
      break;
    }
  }
  if (context.threads > 1 && grid.tasks() * plan->channel_blocks > 1) {
    Balance(context.threads, least_blocks, grid, &plan->channel_blocks);
  }
  return {grid, least_blocks, most_vectors};
}

// Whether tasks should convert what they read: it then comes from the second cache instead of the
// last one, which pays unless many tasks read the same.
bool TasksShouldConvert(const PlanContext& context, const DirectPlan& plan, const Grid& grid) {
  constexpr double kMostRepeats = 2;
  const Problem& p = plan.problem;
  const int64_t rows = MostRead(p.rows, grid.rows.largest());
  const int64_t columns = MostRead(p.columns, grid.columns.largest());
  const int64_t bytes = SaturatingMultiply(
      SaturatingMultiply(grid.images.largest(), rows),
      SaturatingMultiply(SaturatingMultiply(columns, plan.input_pitch), plan.compute_size));
  const double repeats = static_cast<double>(plan.channel_blocks) *
                         static_cast<double>(plan.row_blocks) * static_cast<double>(rows) *
                         static_cast<double>(plan.column_blocks) * static_cast<double>(columns) /
                         (static_cast<double>(p.rows.out) * static_cast<double>(p.columns.out));
  return repeats <= kMostRepeats && bytes <= GetCacheSizes().l2 / 4 * 3 &&
         bytes <= context.workspace_limit / 4 / context.threads;
}

// Bytes of the largest packed block of columns.
int64_t LargestBlock(const DirectPlan& plan) {
  int64_t largest = 0;
  const auto row_phases = static_cast<int64_t>(plan.row_phases.size());
  for (int64_t a = 0; a < row_phases; ++a) {
    for (const ColumnGroup& group : plan.column_groups) {
      const int64_t blocks = BlockCount(group.vectors);
      for (const int64_t b : {int64_t{0}, blocks - 1}) {
        largest = std::max(largest, plan.BlockElements(a, group, BlockAt(group.vectors, b).count));
      }
    }
  }
  return largest * plan.compute_size;
}

// Whether the tasks of a one-shot call should pack what they need of the filter: it then comes from
// the second cache and never goes to memory, which pays if no two tasks need the same.
bool TasksShouldPack(const PlanContext& context, const DirectPlan& plan, const Grid& grid) {
  const int64_t l2 = GetCacheSizes().l2;
  return !context.filter_packed && !plan.lanes_are_groups && plan.packed_filter_bytes > l2 &&
         plan.row_bands == 1 && plan.band_images == plan.problem.batch && grid.tasks() == 1 &&
         LargestBlock(plan) <= std::min(l2 / 4 * 3, context.workspace_limit / 4 / context.threads);
}

}  // namespace

int64_t PassRows(const DirectPlan& plan, int64_t vectors) {
  return std::max<int64_t>(kMaxTerms,
                           GetCacheSizes().l2 / 2 / (vectors * plan.lanes * plan.compute_size));
}

Status ChooseBlocking(const PlanContext& context, DirectPlan* plan) {
  const Problem& p = plan->problem;
  plan->band_images = p.batch;
  plan->band_read_rows = p.rows.out;
  Tasks tasks = CutBand(context, plan);
  if (plan->converts_in) {
    plan->converts_per_task = TasksShouldConvert(context, *plan, tasks.grid);
    if (!plan->converts_per_task) {
      ChooseBands(context, plan);
      tasks = CutBand(context, plan);
    }
  }
  const Grid& grid = tasks.grid;
  if (TasksShouldPack(context, *plan, grid)) {
    plan->packs_in_run = true;
    plan->task_filter_bytes = RoundUp(LargestBlock(*plan), 64);
  }

  // Scratch of one slot. Smaller regions, then smaller shares of channels, until one slot keeps the
  // caller's limit; so whether a plan exists does not hang on the number of threads.
  const auto set_slot_bytes = [&] {
    plan->pixel_limit = std::min(grid.pixels(), kMaxPixels);
    plan->steps_bytes = RoundUp(kMaxSteps * static_cast<int64_t>(sizeof(kernels::GemmStep)), 64);
    plan->offsets_bytes =
        RoundUp(2 * plan->pixel_limit * static_cast<int64_t>(sizeof(int64_t)), 64);
    if (plan->converts_per_task) {
      plan->task_input_bytes = RoundUp(
          grid.images.largest() * MostRead(p.rows, grid.rows.largest()) *
              MostRead(p.columns, grid.columns.largest()) * plan->input_pitch * plan->compute_size,
          64);
    }
    if (plan->stages_out) {
      // Channels of a task: whole units, which differ in size by one block of at most 3 vectors.
      const int64_t channels =
          plan->channel_blocks == 1
              ? p.in_channels
              : std::min(p.in_channels,
                         CeilDivide(tasks.least_blocks, plan->channel_blocks) *
                             std::min<int64_t>(3 * plan->lanes, p.group_in_channels()));
      plan->staging_bytes = RoundUp(grid.results() * channels * plan->compute_size, 64);
    }
    plan->slot_bytes = plan->steps_bytes + plan->offsets_bytes + plan->task_input_bytes +
                       plan->task_filter_bytes + plan->staging_bytes;
  };
  set_slot_bytes();
  const int64_t available = context.workspace_limit - plan->converted_bytes - kAlignmentSlack;
  while (plan->slot_bytes > available) {
    if (plan->packs_in_run) {
      plan->packs_in_run = false;
      plan->task_filter_bytes = 0;
    } else if (grid.can_split()) {
      grid.Split();
    } else if (plan->channel_blocks * 2 <= tasks.least_blocks) {
      plan->channel_blocks *= 2;
    } else {
      return OutOfMemory(
          "workspace_limit is " + std::to_string(context.workspace_limit) +
          " bytes; the direct algorithm needs " +
          std::to_string(plan->converted_bytes + plan->slot_bytes + kAlignmentSlack));
    }
    set_slot_bytes();
  }
  const int64_t l2 = GetCacheSizes().l2;
  plan->shared_filter_bytes = plan->lanes_are_groups ? GetCacheSizes().l1d / 2 : l2 / 4;
  plan->pass_rows = PassRows(*plan, std::min(tasks.most_vectors, kWidestBlock));
  const int64_t count = grid.tasks() * plan->channel_blocks;
  const bool tiny = p.multiply_adds() < 1e6;
  plan->slots = tiny ? 1
                     : static_cast<int>(std::min<int64_t>(
                           {context.threads, count, available / plan->slot_bytes}));
  plan->workspace_bytes = plan->converted_bytes + plan->slots * plan->slot_bytes + kAlignmentSlack;
  return {};
}

}  // namespace dgrad::direct
