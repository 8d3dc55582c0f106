// Winograd: refuse, plan, prepare the filter.
#include <algorithm>
#include <string>

#include "src/algorithms/element_types.h"
#include "src/algorithms/winograd/winograd_plan.h"
#include "src/base/cache_size.h"

namespace dgrad {
namespace winograd {
namespace {

std::string Refuse(const Problem& problem, const PlanContext& context) {
  if (context.strict) return "accuracy is strict: it would round the sums otherwise";
  if (problem.dtype == DType::kI32) return "it serves real types";
  if (problem.groups != 1) return "it serves one group";
  constexpr int64_t kMostChannels = int64_t{1} << 24;  // so that no scratch size overflows
  if (std::max(problem.in_channels, problem.out_channels) > kMostChannels) {
    return "it serves at most 16777216 channels";
  }
  if (problem.in_backprop_elements() == 0 || problem.out_backprop_elements() == 0 ||
      problem.filter_elements() == 0) {
    return "a tensor is empty";
  }
  if (const char* reason = AxisTiling::Refusal(problem.rows)) return reason;
  if (const char* reason = AxisTiling::Refusal(problem.columns)) return reason;
  if (problem.rows.taps <= problem.rows.stride && problem.columns.taps <= problem.columns.stride) {
    return "with one tap a phase there is nothing to save";
  }
  return {};
}

// Where tap (taps - 1 - i) * stride + phase of the axis, which meets point offset i, stands.
std::vector<TapPlaces> FindTaps(const AxisTiling& tiling, const std::vector<Phase>& phases) {
  std::vector<TapPlaces> places(static_cast<size_t>(tiling.phases()));
  for (TapPlaces& place : places) std::fill(std::begin(place.tap), std::end(place.tap), -1);
  for (size_t p = 0; p < phases.size(); ++p) {
    TapPlaces& place = places[static_cast<size_t>(phases[p].first_tap % tiling.phases())];
    place.phase = static_cast<int64_t>(p);
    for (int64_t t = 0; t < phases[p].taps; ++t) {
      place.tap[tiling.taps() - 1 - phases[p].tap(t) / tiling.phases()] = t;
    }
  }
  return places;
}

// Cycles of one thread, on a machine with one multiply-add of a vector a cycle. Of the task grid,
// which hangs on the number of threads, nothing may enter.
double PredictCycles(const PlanContext& context, const WinogradPlan& plan) {
  constexpr double kMoved = 1.5;  // an element that is converted or packed
  constexpr double kFlush = 8.0;  // terms that the end of a partial sum is worth
  const Problem& p = plan.problem;
  const double points = static_cast<double>(p.batch) *
                        static_cast<double>(plan.rows.total_points()) *
                        static_cast<double>(plan.columns.total_points());
  const double in_vectors = static_cast<double>(CeilDivide(p.out_channels, plan.lanes));
  const double out_vectors = static_cast<double>(plan.phases() * plan.vectors);
  const double out_points = static_cast<double>(p.batch) *
                            static_cast<double>(plan.rows.output_points()) *
                            static_cast<double>(plan.columns.output_points());
  // Tiles of one vector leave the multipliers waiting; so do few of them.
  const double width = plan.vectors == 1 ? 0.65 : 0.85;
  const double rows = std::min(1.0, (static_cast<double>(plan.tiles) + 4) / 12);
  const double terms =
      static_cast<double>(p.out_channels) + kFlush * static_cast<double>(plan.term_pieces());
  double cycles = points * terms * out_vectors / width / rows;
  // Products of many phases overflow the second cache.
  const int64_t m_bytes =
      SaturatingMultiply(plan.planes() * plan.phases() * plan.WidestBlock() * plan.compute_size,
                         std::min(plan.tiles, kGoodTiles));
  const double out = m_bytes > GetCacheSizes().l2 ? 2.5 * kTransform : kTransform;
  cycles += points * kTransform * in_vectors + out_points * out * out_vectors;
  const double filter_times =
      plan.shared_filter ? 1.0 : static_cast<double>(CeilDivide(plan.tiles, kMostTiles));
  cycles += kFilter * filter_times * static_cast<double>(plan.planes() * plan.terms_total()) *
            out_vectors;
  // Planes are turned to pixels and back, and rows that two tiles read are turned twice.
  const double moved = p.layout == Layout::kNhwc ? kMoved
                       : IsHalf(p.dtype)         ? 4 * kMoved
                                                 : 2 * kMoved;
  if (plan.converts_in) cycles += moved * static_cast<double>(p.out_backprop_elements());
  if (plan.stages_out) cycles += moved * static_cast<double>(p.in_backprop_elements());
  if (!context.filter_packed) cycles += kMoved * static_cast<double>(p.filter_elements());
  // Rounding is worse than the direct algorithm's: no gain, no change.
  return 1.1 * cycles;
}

Status MakePlan(const Problem& problem, const PlanContext& context,
                std::unique_ptr<const AlgorithmPlan>* result) {
  auto plan = std::make_unique<WinogradPlan>();
  plan->problem = problem;
  plan->isa = context.isa;
  DGRAD_RETURN_IF_ERROR(direct::MakePlanWithoutFolds(problem, context, &plan->fallback));
  plan->rows = AxisTiling(problem.rows);
  plan->columns = AxisTiling(problem.columns);
  plan->tiles = SaturatingMultiply(problem.batch,
                                   SaturatingMultiply(plan->rows.count(), plan->columns.count()));
  plan->same_points =
      plan->rows.output_points() == plan->rows.count() * plan->rows.points() &&
      plan->columns.output_points() == plan->columns.count() * plan->columns.points();
  std::vector<Phase> column_phases;
  for (const direct::ColumnGroup& group : plan->fallback->column_groups) {
    column_phases.push_back(group.phase);
  }
  plan->row_taps = FindTaps(plan->rows, plan->fallback->row_phases);
  plan->column_taps = FindTaps(plan->columns, column_phases);
  const bool nchw = problem.layout == Layout::kNchw;
  plan->converts_in = nchw || IsHalf(problem.dtype);
  plan->stages_out = plan->converts_in;
  plan->lanes = LanesOf(problem.dtype, context.isa);
  plan->compute_size = ComputeSizeOf(problem.dtype);
  plan->vectors = CeilDivide(problem.in_channels, plan->lanes);
  plan->terms_pitch = RoundUp(plan->longest_piece(), plan->lanes);
  plan->packed_filter_bytes = plan->fallback->packed_filter_bytes;
  DGRAD_RETURN_IF_ERROR(ChooseBlocking(context, plan.get()));
  plan->footprint_bytes =
      plan->fallback->footprint_bytes +
      static_cast<int64_t>(sizeof(direct::DirectPlan) +
                           (plan->row_taps.size() + plan->column_taps.size()) * sizeof(TapPlaces));
  plan->cycles = PredictCycles(context, *plan);
  *result = std::move(plan);
  return {};
}

}  // namespace

Status WinogradPlan::PrepareFilter(const void* filter, void* packed, Executor& executor,
                                   const Control& control) const {
  return fallback->PrepareFilter(filter, packed, executor, control);
}

std::string WinogradPlan::Describe() const {
  const auto axis = [](const AxisTiling& tiling) {
    std::string taps;
    for (int i = 0; i < tiling.pieces(); ++i) {
      taps += (i > 0 ? "+" : "") + std::to_string(tiling.piece(i).taps);
    }
    return "F(" + std::to_string(tiling.most_outputs()) + "," + taps + ") x " +
           std::to_string(tiling.count());
  };
  return "tiles: rows " + axis(rows) + ", columns " + axis(columns) + ", " +
         std::to_string(phases()) +
         " phases share each input\ntasks: " + std::to_string(tile_blocks) + " blocks of up to " +
         std::to_string(block_tiles) + " tiles x " + std::to_string(channel_parts) +
         " channel parts\ntransformed filter: " +
         (shared_filter ? "made once, " + std::to_string(shared_filter_bytes) + " bytes\n"
                        : "made by each task for a block of channels\n");
}

}  // namespace winograd

const Algorithm kWinograd = {"winograd", &winograd::Refuse, &winograd::MakePlan};

}  // namespace dgrad
