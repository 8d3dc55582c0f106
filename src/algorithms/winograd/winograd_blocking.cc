// How Winograd cuts its work: blocks of tiles, parts of channels, scratch. Values never depend on
// it.
#include <algorithm>
#include <string>

#include "src/algorithms/steps.h"
#include "src/algorithms/winograd/winograd_plan.h"
#include "src/base/cache_size.h"

namespace dgrad::winograd {
namespace {

constexpr int64_t kGoodTiles = 56;   // per block: four register tiles a plane
constexpr int64_t kLeastPart = 128;  // result channels, so that V may be made anew for each part

SlotLayout LayOut(const WinogradPlan& plan, int64_t block_tiles) {
  const Problem& p = plan.problem;
  const int64_t size = plan.compute_size;
  const int64_t width = plan.WidestBlock();
  const int64_t line = 64 / size;
  const auto plane = [&](int64_t pitch) { return block_tiles * pitch + line; };
  const int64_t run_columns = kRunTiles * plan.columns.most_outputs() + plan.columns.taps() - 1;
  SlotLayout layout;
  int64_t at = 0;  // bytes
  const auto part = [&](int64_t* where, int64_t bytes) {
    *where = at;
    at += RoundUp(bytes, 64);
  };
  const int64_t phase_planes = plan.planes() * plan.phases();
  part(&layout.v, plan.piece_count() * plan.planes() * plane(plan.terms_pitch) * size);
  part(&layout.m, phase_planes * plane(width) * size);
  part(&layout.u, plan.shared_filter ? 0 : phase_planes * plan.longest_piece() * width * size);
  // The strip of the input, lines of the output or pieces of the filter, one after the other; then
  // a line of zeros or of what nobody wants.
  const int64_t raw = plan.converts_in ? plan.rows.points() * run_columns * plan.chunk : 0;
  const int64_t strip = plan.rows.points() * run_columns * plan.chunk + raw;
  const int64_t lines = plan.rows.most_outputs() * plan.columns.points() * kRunTiles * width;
  part(&layout.strip,
       (std::max({strip, lines, kFilterScratch}) + std::max(plan.chunk, width)) * size);
  part(&layout.window, plan.planes() * p.out_channels * size);
  part(&layout.staging, plan.stages_out
                            ? plan.rows.most_outputs() * plan.rows.phases() * kRunTiles *
                                  plan.columns.most_outputs() * plan.columns.phases() * width * size
                            : 0);
  part(&layout.offsets, 2 * block_tiles * static_cast<int64_t>(sizeof(int64_t)));
  part(&layout.steps, kMaxSteps * static_cast<int64_t>(sizeof(kernels::GemmStep)));
  part(&layout.runs, block_tiles * static_cast<int64_t>(sizeof(TileRun)));
  layout.bytes = at;
  return layout;
}

}  // namespace

Status ChooseBlocking(const PlanContext& context, WinogradPlan* plan) {
  const Problem& p = plan->problem;
  const int64_t l2 = GetCacheSizes().l2;
  const int64_t size = plan->compute_size;
  plan->chunk = std::min<int64_t>(kChunkVectors * plan->lanes, plan->terms_pitch);
  const int64_t channel_blocks = BlockCount(plan->vectors);

  // Tiles of a block: V and M in the second cache if that leaves enough of them.
  const int64_t tile_bytes =
      plan->planes() * (p.out_channels + plan->phases() * plan->WidestBlock()) * size;
  int64_t wanted = std::clamp(l2 / 2 / tile_bytes, kGoodTiles, kMostTiles);
  // The filter of all channels is made once if that is cheap to keep.
  plan->shared_filter_bytes = SaturatingMultiply(plan->planes() * plan->phases() * p.out_channels,
                                                 plan->vectors * plan->lanes * size);
  const int64_t most_shared = std::min(GetCacheSizes().l3 / 2, context.workspace_limit / 2);
  plan->shared_filter = plan->tiles > wanted && plan->shared_filter_bytes <= most_shared;
  if (!plan->shared_filter) {
    plan->shared_filter_bytes = 0;
    wanted = kMostTiles;
  }
  const auto set_blocks = [&](int64_t most) {
    plan->tile_blocks = CeilDivide(plan->tiles, most);
    plan->block_tiles = CeilDivide(plan->tiles, plan->tile_blocks);
    plan->layout = LayOut(*plan, plan->block_tiles);
  };
  set_blocks(wanted);

  // Enough tasks for all threads: first by channels, as long as V costs little, then by tiles.
  const int64_t tasks_wanted = context.threads > 1 ? 3 * int64_t{context.threads} : 1;
  const int64_t most_parts =
      std::max<int64_t>(1, std::min(channel_blocks, p.in_channels * plan->phases() / kLeastPart));
  while (plan->tile_blocks * plan->channel_parts < tasks_wanted &&
         plan->channel_parts * 2 <= most_parts) {
    plan->channel_parts *= 2;
  }
  while (plan->tile_blocks * plan->channel_parts < tasks_wanted && plan->block_tiles >= 28) {
    set_blocks(CeilDivide(plan->block_tiles, 2));
  }

  const int64_t available =
      context.workspace_limit - RoundUp(plan->shared_filter_bytes, 64) - kAlignmentSlack;
  while (plan->layout.bytes > available) {
    if (plan->block_tiles == 1) {
      return OutOfMemory(
          "workspace_limit is " + std::to_string(context.workspace_limit) +
          " bytes; the winograd algorithm needs " +
          std::to_string(plan->shared_filter_bytes + plan->layout.bytes + kAlignmentSlack));
    }
    set_blocks(CeilDivide(plan->block_tiles, 2));
  }
  const int64_t tasks = SaturatingMultiply(plan->tile_blocks, plan->channel_parts);
  plan->slots = p.multiply_adds() < 1e6
                    ? 1
                    : static_cast<int>(std::min<int64_t>(
                          {context.threads, tasks, available / plan->layout.bytes}));
  plan->workspace_bytes = std::max(
      RoundUp(plan->shared_filter_bytes, 64) + plan->slots * plan->layout.bytes + kAlignmentSlack,
      plan->fallback->workspace_bytes);
  return {};
}

}  // namespace dgrad::winograd
