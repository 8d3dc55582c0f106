// How Winograd cuts its work: blocks of tiles, parts of channels, scratch. Values never depend on
// it.
#include <algorithm>
#include <string>

#include "src/algorithms/steps.h"
#include "src/algorithms/winograd/winograd_filter.h"
#include "src/algorithms/winograd/winograd_plan.h"
#include "src/base/cache_size.h"

namespace dgrad::winograd {
namespace {

constexpr int64_t kMostShared = int64_t{12} << 20;  // bytes of a transformed filter that is kept

SlotLayout LayOut(const WinogradPlan& plan, int64_t block_tiles, int64_t parts) {
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
  part(&layout.v, plan.round_pieces() * plan.planes() * plane(plan.terms_pitch) * size);
  part(&layout.m,
       phase_planes *
           ((plan.kept_blocks(parts) - 1) * plane(2 * int64_t{plan.lanes}) + plane(width)) * size);
  part(&layout.u, plan.shared_filter ? 0 : phase_planes * plan.longest_piece() * width * size);
  part(&layout.filter, plan.packs_in_run ? plan.taps_total() * p.out_channels * width * size : 0);
  // The strip of the input, lines of the output or pieces of the filter, one after the other; then
  // a line of zeros or of what nobody wants.
  const int64_t raw = plan.converts_in ? plan.rows.points() * run_columns * plan.chunk : 0;
  const int64_t strip = plan.rows.points() * run_columns * plan.chunk + raw;
  const int64_t lines = plan.rows.most_outputs() * plan.columns.points() * kRunTiles * width;
  part(&layout.strip,
       (std::max({strip, lines, kFilterScratch}) + std::max(plan.chunk, width)) * size);
  part(&layout.window, int64_t{plan.rows.window()} * plan.columns.window() * p.out_channels * size);
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

// Cycles of one task on a block of `tiles` tiles and one of `parts` parts of the channels.
double TaskCycles(const WinogradPlan& plan, int64_t tiles, int64_t parts) {
  constexpr double kCall = 20000;
  const auto planes = static_cast<double>(plan.planes());
  const auto terms = static_cast<double>(plan.terms_total());
  const double in_vectors = terms / plan.lanes;
  const double out_vectors =
      static_cast<double>(plan.phases() * CeilDivide(BlockCount(plan.vectors), parts)) *
      static_cast<double>(plan.vectors) / static_cast<double>(BlockCount(plan.vectors));
  // A register tile of few rows leaves the multipliers waiting.
  const double rows = std::max(static_cast<double>(tiles), 8.0);
  return planes * (rows * terms * out_vectors +
                   kTransform * static_cast<double>(tiles) * (in_vectors + out_vectors) +
                   (plan.shared_filter ? 0 : kFilter * terms * out_vectors)) +
         kCall;
}

}  // namespace

Status ChooseBlocking(const PlanContext& context, WinogradPlan* plan) {
  const Problem& p = plan->problem;
  const int64_t l2 = GetCacheSizes().l2;
  const int64_t size = plan->compute_size;
  plan->chunk = std::min<int64_t>(kChunkVectors * plan->lanes, plan->terms_pitch);

  // Tiles of a block: V and M in the second cache if that leaves enough of them.
  const int64_t m_width = plan->rounds() > 1 ? plan->vectors * plan->lanes : plan->WidestBlock();
  const int64_t tile_bytes =
      plan->planes() * (plan->columns.pieces() * p.out_channels + plan->phases() * m_width) * size;
  int64_t most_tiles = std::clamp(l2 / 2 / tile_bytes, kGoodTiles, kMostTiles);
  // The filter of all channels is made once if that is cheap to keep.
  plan->shared_filter_bytes = SaturatingMultiply(
      plan->planes() * plan->phases() * plan->terms_total(), plan->vectors * plan->lanes * size);
  plan->shared_filter =
      plan->tiles > most_tiles &&
      plan->shared_filter_bytes <= std::min(kMostShared, context.workspace_limit / 2);
  if (!plan->shared_filter) {
    plan->shared_filter_bytes = 0;
    // M of all channels overflows the second cache sooner than one block's.
    most_tiles = plan->rounds() > 1 ? 2 * kGoodTiles : kMostTiles;
  }
  const int64_t available =
      context.workspace_limit - RoundUp(plan->shared_filter_bytes, 64) - kAlignmentSlack;
  const int64_t least = LayOut(*plan, 1, BlockCount(plan->vectors)).bytes;
  if (least > available) {
    return OutOfMemory("workspace_limit is " + std::to_string(context.workspace_limit) +
                       " bytes; the winograd algorithm needs " +
                       std::to_string(plan->shared_filter_bytes + least + kAlignmentSlack));
  }

  // The grid whose last task ends first. Parts of the channels make V anew each; blocks of fewer
  // tiles make the filter anew, or read it again.
  double best = 0;
  const auto consider = [&](int64_t tile_blocks, int64_t parts) {
    const int64_t block_tiles = CeilDivide(plan->tiles, tile_blocks);
    const int64_t bytes = LayOut(*plan, block_tiles, parts).bytes;
    if (bytes > available) return;
    const int64_t tasks = SaturatingMultiply(tile_blocks, parts);
    const int64_t slots = std::min<int64_t>({context.threads, tasks, available / bytes});
    const double cycles =
        static_cast<double>(CeilDivide(tasks, slots)) * TaskCycles(*plan, block_tiles, parts);
    if (best != 0 && cycles >= best) return;
    best = cycles;
    plan->tile_blocks = tile_blocks;
    plan->block_tiles = block_tiles;
    plan->channel_parts = parts;
    plan->slots = static_cast<int>(slots);
  };
  const int64_t channel_blocks = BlockCount(plan->vectors);
  for (int64_t parts = 1; parts <= channel_blocks;) {
    for (int64_t tiles = most_tiles; tiles > 0; tiles /= 2) {
      const int64_t blocks = CeilDivide(plan->tiles, tiles);
      consider(blocks, parts);
      // As many as whole rounds of all threads take.
      const int64_t rounds = CeilDivide(blocks * parts, context.threads);
      for (const int64_t tasks : {rounds * context.threads, (rounds + 1) * context.threads}) {
        consider(std::clamp<int64_t>(tasks / parts, 1, plan->tiles), parts);
      }
    }
    // The next number of parts whose largest has fewer blocks.
    const int64_t largest = CeilDivide(channel_blocks, parts);
    parts = largest == 1 ? channel_blocks + 1 : CeilDivide(channel_blocks, largest - 1);
  }
  // One-shot calls whose tasks do not share channels pack those they have: the packed filter then
  // stays in cache.
  if (!context.filter_packed && !plan->shared_filter && plan->tile_blocks == 1 &&
      plan->kept_blocks(plan->channel_parts) == 1 && plan->packed_filter_bytes > l2) {
    plan->packs_in_run = true;
    const int64_t bytes = LayOut(*plan, plan->block_tiles, plan->channel_parts).bytes;
    plan->packs_in_run = bytes * plan->slots <= available;
  }
  plan->layout = LayOut(*plan, plan->block_tiles, plan->channel_parts);
  if (p.multiply_adds() < 1e6) plan->slots = 1;
  plan->workspace_bytes =
      RoundUp(plan->shared_filter_bytes, 64) + plan->slots * plan->layout.bytes + kAlignmentSlack;
  return {};
}

}  // namespace dgrad::winograd
