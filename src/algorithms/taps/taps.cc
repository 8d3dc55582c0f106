// Taps as columns: refuse, plan, prepare the filter. taps_run.cc has the rest.
#include "src/kernels/taps/taps.h"

#include <algorithm>
#include <type_traits>

#include "src/algorithms/blocks.h"
#include "src/algorithms/element_types.h"
#include "src/algorithms/taps/taps_plan.h"
#include "src/base/cache_size.h"
#include "src/base/integer.h"
#include "src/kernels/transpose/transpose.h"
#include "src/threads/partition.h"

namespace dgrad {
namespace taps {
namespace {

std::string Refuse(const Problem& problem, const PlanContext&) {
  if (problem.groups != 1) return "it serves one group";
  if (problem.in_channels > kMostChannels) {
    return "it serves at most " + std::to_string(kMostChannels) + " channels of in_backprop";
  }
  if (problem.in_backprop_elements() == 0 || problem.out_backprop_elements() == 0 ||
      problem.filter_elements() == 0) {
    return "a tensor is empty";
  }
  if (problem.columns.dilation != 1) return "the columns are dilated";
  const int64_t most = kMostColumns / problem.in_channels;
  if (problem.rows.taps > most / problem.columns.taps) {
    return "it serves at most " + std::to_string(kMostColumns) + " taps times channels";
  }
  // So no size of scratch memory leaves 64 bits.
  if (std::max(problem.columns.in, problem.columns.out) > kMostWidth ||
      problem.out_channels > kMostTerms || MostRead(problem.rows, 1) > kMostRing) {
    return "rows of the tensors, channels of out_backprop or the reach of the row taps are too "
           "long";
  }
  if (problem.columns.stride > kMostColumns) {
    return "it serves column strides of at most " + std::to_string(kMostColumns);
  }
  return {};
}

void SetSlotBytes(TapsPlan* plan) {
  const Problem& p = plan->problem;
  const int64_t slack = kernels::kTapsSlack * plan->compute_size;
  const auto bytes = [&](int64_t elements) {
    return RoundUp(elements * plan->compute_size + slack, 64);
  };
  plan->ring_bytes = bytes(plan->ring * plan->ring_row());
  plan->line_bytes = plan->lines      ? bytes(plan->source_pitch() * p.out_channels)
                     : plan->converts ? bytes(plan->block_columns() * p.out_channels)
                                      : 0;
  plan->row_bytes = bytes(plan->block_groups() * plan->width + plan->lanes);
  plan->sources_bytes =
      RoundUp(p.rows.taps * (plan->overlap + 1) * static_cast<int64_t>(sizeof(void*)), 64);
  plan->slot_bytes = plan->ring_bytes + plan->line_bytes + plan->row_bytes + plan->sources_bytes;
}

Status ChooseBlocking(const PlanContext& context, TapsPlan* plan) {
  const Problem& p = plan->problem;
  const int64_t l2 = GetCacheSizes().l2;
  const int64_t available = context.workspace_limit - kAlignmentSlack;
  SetSlotBytes(plan);
  // Narrower blocks while their products overflow the cache and the columns read twice stay few.
  while (plan->group_blocks < plan->groups &&
         (plan->slot_bytes > available ||
          (plan->slot_bytes > l2 / 2 && plan->block_groups() >= 8 * plan->overlap))) {
    plan->group_blocks = std::min(plan->group_blocks * 2, plan->groups);
    SetSlotBytes(plan);
  }
  if (plan->slot_bytes > available) {
    return OutOfMemory("workspace_limit is " + std::to_string(context.workspace_limit) +
                       " bytes; the taps algorithm needs " +
                       std::to_string(plan->slot_bytes + kAlignmentSlack));
  }
  // More tasks than threads, while the rows read twice stay few.
  const int64_t block = plan->ring * p.rows.stride;
  while (context.threads > 1 &&
         p.batch * plan->row_blocks * plan->group_blocks < 4 * context.threads &&
         p.rows.in / (2 * plan->row_blocks) >= 2 * block) {
    plan->row_blocks *= 2;
  }
  const int64_t tasks = p.batch * plan->row_blocks * plan->group_blocks;
  plan->slots = p.multiply_adds() < 1e6
                    ? 1
                    : static_cast<int>(std::min<int64_t>(
                          {context.threads, tasks, available / plan->slot_bytes}));
  plan->workspace_bytes = plan->slots * plan->slot_bytes + kAlignmentSlack;
  return {};
}

// Cycles of one thread for a row of out_backprop with lines, fitted to measurements.
double LineCycles(const TapsPlan& plan) {
  const Problem& p = plan.problem;
  const auto vectors = static_cast<double>(CeilDivide(p.columns.out, plan.lanes));
  const auto lines = static_cast<double>(plan.planes * plan.plane_columns);
  const auto terms = static_cast<double>(p.out_channels);
  const double moved = plan.reads_planes() ? 0.1 : 1.0;
  return lines * (vectors * (terms / 0.85 + 4) + 12) +  // the product
         lines * vectors * 2 +                          // the sums
         terms * (moved * static_cast<double>(p.columns.out) + 10);
}

// The same with pixels as rows of the product, without what all problems have.
double PixelCycles(const TapsPlan& plan) {
  const Problem& p = plan.problem;
  const auto sources = static_cast<double>(p.rows.taps * plan.planes * plan.overlap);
  const auto terms = static_cast<double>(p.out_channels);
  const double planes = p.layout == Layout::kNchw ? 0.2 * terms : 0;
  return static_cast<double>(p.columns.out) *
         (static_cast<double>(plan.vectors) * (terms / 0.92 + 4) + 0.7 * sources + planes + 1.5);
}

// Hangs on geometry and instruction set alone, as the layout of the packed filter must.
bool PrefersLines(const TapsPlan& plan) {
  return plan.lanes > 1 && plan.width == 1 && plan.plane_columns > 1 && !plan.dots &&
         LineCycles(plan) < PixelCycles(plan);
}

// Cycles of one thread, fitted to measurements.
double Predict(const TapsPlan& plan, bool filter_packed) {
  const Problem& p = plan.problem;
  const auto pixels = static_cast<double>(p.batch * p.rows.out * p.columns.out);
  const auto vectors = static_cast<double>(plan.vectors);
  // What a group of a row is summed from, in vectors of at most the full size.
  const int64_t parts = CeilDivide(plan.width, plan.lanes);
  const auto sources = static_cast<double>(p.rows.taps * plan.planes * parts * plan.overlap);
  const double efficiency = plan.lanes == 1 ? 0.5 : 0.92;  // every term is loaded for itself
  // Dots: the sums of lanes count too.
  const double dots = static_cast<double>(kernels::kTapsDots) *
                      (static_cast<double>(CeilDivide(p.out_channels, plan.lanes)) + 1);
  const double product =
      plan.dots ? dots : vectors * (static_cast<double>(p.out_channels) / efficiency + 4);
  // Several groups of dots lie in a vector; narrow vectors rarely cross cache lines.
  const bool close = plan.dots && plan.lanes >= 8 && 4 * plan.width <= plan.lanes;
  const double sums = sources * (close ? 0.3 : 2 * plan.width <= plan.lanes ? 0.7 : 1.1);
  const double planes = p.layout == Layout::kNchw ? 0.2 * static_cast<double>(p.out_channels) : 0;
  const double converted = plan.converts ? static_cast<double>(p.out_channels) / 8 : 0;
  // Columns at the seams of blocks are multiplied twice. Rows are too, but their blocks hang on the
  // number of threads, which no choice may look at.
  const double seams = 1 + static_cast<double>((plan.overlap - 1) * (plan.group_blocks - 1)) /
                               static_cast<double>(p.columns.out);
  const auto rows = static_cast<double>(p.batch * p.rows.in * plan.planes);
  const int64_t packed = filter_packed ? 0 : plan.packed_filter_bytes / plan.compute_size;
  const auto packing = static_cast<double>(packed);
  // Each group is written once, each run of groups and each row has its set-up.
  const double written = (close ? 0.3 : 1.5) * rows * static_cast<double>(parts * plan.groups) +
                         (plan.converts ? 1 : 0.5) * static_cast<double>(p.in_backprop_elements());
  const double runs = rows * static_cast<double>(plan.group_blocks) *
                      (100 + static_cast<double>((10 + 4 * p.rows.taps) * plan.overlap));
  if (plan.lines) {
    return packing + static_cast<double>(p.batch * p.rows.out) * LineCycles(plan) * seams +
           static_cast<double>(p.in_backprop_elements()) * (plan.converts ? 0.5 : 0.2) +
           rows * static_cast<double>(plan.group_blocks * (80 + p.rows.taps * 8));
  }
  return packing + pixels * (product + sums + planes + converted) * seams + written + runs;
}

Status MakePlan(const Problem& problem, const PlanContext& context,
                std::unique_ptr<const AlgorithmPlan>* result) {
  auto plan = std::make_unique<TapsPlan>();
  plan->problem = problem;
  plan->isa = context.isa;
  plan->converts = IsHalf(problem.dtype);
  plan->compute_size = ComputeSizeOf(problem.dtype);
  WithElementTypes(problem.dtype, [&](auto, auto compute) {
    const auto& family = kernels::Taps<decltype(compute)>(plan->isa);
    plan->lanes = family.lanes;
    plan->dot_rows = family.dot_rows;
  });
  const bool nhwc = problem.layout == Layout::kNhwc;
  plan->planes = nhwc ? 1 : problem.in_channels;
  plan->inner = nhwc ? problem.in_channels : 1;
  const Axis& columns = problem.columns;
  plan->plane_columns = problem.rows.taps * columns.taps * plan->inner;
  plan->vectors = CeilDivide(plan->planes * plan->plane_columns, plan->lanes);
  plan->width = columns.stride * plan->inner;
  plan->overlap = CeilDivide(columns.taps, columns.stride);
  plan->rest = columns.taps * plan->inner - (plan->overlap - 1) * plan->width;
  plan->first_group = columns.pad_before / columns.stride;
  plan->groups = (columns.pad_before + columns.in - 1) / columns.stride + 1 - plan->first_group;
  plan->chunks = CeilDivide(problem.out_channels, kMaxTerms);
  plan->ring = MostRead(problem.rows, 1);
  plan->dots = plan->dot_rows > 0 && nhwc && plan->plane_columns <= kernels::kTapsDots &&
               problem.out_channels >= plan->lanes &&
               problem.out_channels <= kMaxTerms / 2 * plan->lanes;  // a lane sums two of them
  plan->lines = PrefersLines(*plan);
  const int64_t terms =
      plan->dots ? RoundUp(problem.out_channels, plan->lanes) : problem.out_channels;
  plan->packed_filter_bytes = RoundUp(plan->pitch() * terms * plan->compute_size, 64);
  DGRAD_RETURN_IF_ERROR(ChooseBlocking(context, plan.get()));
  plan->cycles = Predict(*plan, context.filter_packed);
  *result = std::move(plan);
  return {};
}

// [block of vectors][term][column], zeros beyond the last column.
template <typename S, typename T>
void Pack(const TapsPlan& plan, const S* filter, T* to) {
  const Problem& p = plan.problem;
  const int64_t taps = p.rows.taps * p.columns.taps;
  const int64_t columns = plan.planes * plan.plane_columns;
  if (plan.dots) {
    std::fill(to, to + kernels::kTapsDots * RoundUp(p.out_channels, plan.lanes), T{});
    for (int64_t i = 0; i < columns; ++i) {
      const S* const from = filter + i * p.out_channels;
      for (int64_t k = 0; k < p.out_channels; ++k) {
        to[kernels::TapsDotsAt(plan.lanes, k, i)] = Widened(from[k]);
      }
    }
    return;
  }
  if (plan.lines) {  // [term][column]
    for (int64_t i = 0; i < columns; ++i) {
      const int64_t row = plan.planes == 1 ? i : i % taps * p.in_channels + i / taps;
      const S* const from = filter + row * p.out_channels;
      for (int64_t k = 0; k < p.out_channels; ++k) to[k * columns + i] = Widened(from[k]);
    }
    return;
  }
  for (int64_t b = 0; b < BlockCount(plan.vectors); ++b) {
    const Block block = BlockAt(plan.vectors, b);
    const int64_t width = block.count * plan.lanes;
    int64_t i = 0;
    if constexpr (std::is_same_v<S, T>) {
      if (plan.planes == 1) {
        const int64_t first = block.first * plan.lanes;
        i = std::min(width, columns - first);
        kernels::Transpose<T>(plan.isa)(filter + first * p.out_channels, p.out_channels, to, width,
                                        i, p.out_channels);
      }
    }
    for (; i < width; ++i) {
      const int64_t column = block.first * plan.lanes + i;
      if (column >= columns) {
        for (int64_t k = 0; k < p.out_channels; ++k) to[k * width + i] = T{};
        continue;
      }
      const int64_t row = plan.planes == 1 ? column : column % taps * p.in_channels + column / taps;
      const S* const from = filter + row * p.out_channels;
      for (int64_t k = 0; k < p.out_channels; ++k) to[k * width + i] = Widened(from[k]);
    }
    to += width * p.out_channels;
  }
}

}  // namespace

IndexRange TapsPlan::RowsOf(int64_t block) const {
  const Axis& rows = problem.rows;
  const int64_t first = rows.pad_before / rows.stride;
  const int64_t units = (rows.pad_before + rows.in - 1) / rows.stride + 1 - first;
  const auto at = [&](int64_t index) {
    const int64_t unit = first + PartBegin(units, row_blocks, index);
    return std::clamp<int64_t>(unit * rows.stride - rows.pad_before, 0, rows.in);
  };
  return {at(block), at(block + 1)};
}

IndexRange TapsPlan::TapsWithin(int64_t row, const IndexRange& range) const {
  const Axis& rows = problem.rows;
  const int64_t at = row * rows.stride - rows.pad_before;  // of tap 0 in in_backprop
  return {std::clamp<int64_t>(CeilDivide(range.begin - at, rows.dilation), 0, rows.taps),
          std::clamp<int64_t>(CeilDivide(range.end - at, rows.dilation), 0, rows.taps)};
}

Status TapsPlan::PrepareFilter(const void* filter, void* packed, Executor& executor,
                               const Control& control) const {
  return WithElementTypes(problem.dtype, [&](auto storage, auto compute) {
    return RunTasks(executor, 1, 1, control, [&](int, int64_t) {
      Pack(*this, static_cast<const decltype(storage)*>(filter),
           static_cast<decltype(compute)*>(packed));
    });
  });
}

std::string TapsPlan::Describe() const {
  const std::string columns = std::to_string(planes * plane_columns) + " taps times channels";
  if (lines) {
    return "lines: " + columns + ", vectors of " + std::to_string(lanes) + " pixels\n" +
           DescribeTasks();
  }
  return "columns: " + columns + " in " + std::to_string(vectors) + " vectors of " +
         std::to_string(lanes) + "\n" + DescribeTasks();
}

std::string TapsPlan::DescribeTasks() const {
  return "tasks: " + std::to_string(problem.batch) + " image x " + std::to_string(row_blocks) +
         " row x " + std::to_string(group_blocks) + " column blocks, products of " +
         std::to_string(ring) + " rows kept\n";
}

}  // namespace taps

const Algorithm kTaps = {"taps", &taps::Refuse, &taps::MakePlan};

}  // namespace dgrad
