// Few result channels: refuse, plan, prepare the filter. pixels_run.cc has the rest.
#include <algorithm>
#include <string>

#include "src/algorithms/blocks.h"
#include "src/algorithms/element_types.h"
#include "src/algorithms/finite.h"
#include "src/algorithms/pixels/pixels_plan.h"
#include "src/algorithms/steps.h"
#include "src/base/cache_size.h"
#include "src/base/integer.h"
#include "src/kernels/lanes/lanes.h"
#include "src/threads/partition.h"

namespace dgrad {
namespace pixels {
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
  // Lines hold zeros for all that the column taps reach beyond the borders.
  const int64_t reach = FloorDivide((problem.columns.taps - 1), problem.columns.stride) + 1;
  if (reach > problem.columns.out || problem.columns.dilation > problem.columns.out / reach) {
    return "the column taps reach further than out_backprop is wide";
  }
  return {};
}

Status ChooseBlocking(const PlanContext& context, PixelsPlan* plan) {
  const Problem& p = plan->problem;
  const int64_t l2 = GetCacheSizes().l2;
  plan->row_unit = std::min(p.rows.stride, p.rows.in);
  plan->column_unit = SaturatingMultiply(p.columns.stride, plan->lanes);
  const int64_t row_units = CeilDivide(p.rows.in, plan->row_unit);
  const int64_t column_units = CeilDivide(p.columns.in, plan->column_unit);
  const auto block_rows = [&] { return CeilDivide(row_units, plan->row_blocks) * plan->row_unit; };
  const auto block_length = [&] {  // indices of a phase
    return std::min(CeilDivide(p.columns.in, p.columns.stride),
                    CeilDivide(column_units, plan->column_blocks) * plan->lanes);
  };
  const auto line_bytes = [&] {
    return plan->LinePitch(block_length()) * p.out_channels * plan->compute_size;
  };
  const auto product_vectors = [&] {
    return CeilDivide(block_rows(), p.rows.stride) * CeilDivide(block_length(), plan->lanes);
  };
  // Columns are cut when even one row's lines overflow the cache, rows to what fits it.
  while (plan->column_blocks < column_units &&
         MostRead(p.rows, plan->row_unit) * line_bytes() > l2 / 2) {
    plan->column_blocks = std::min(plan->column_blocks * 2, column_units);
  }
  while (plan->row_blocks < row_units && (MostRead(p.rows, block_rows()) * line_bytes() > l2 / 2 ||
                                          product_vectors() > kMaxVectors)) {
    plan->row_blocks = std::min(plan->row_blocks * 2, row_units);
  }
  while (plan->column_blocks < column_units && product_vectors() > kMaxVectors) {
    plan->column_blocks = std::min(plan->column_blocks * 2, column_units);
  }
  // More tasks than threads, while the rows read twice stay few.
  const int64_t halo = MostRead(p.rows, 1);
  while (context.threads > 1 &&
         p.batch * plan->row_blocks * plan->column_blocks < 4 * context.threads &&
         plan->row_blocks * 2 <= row_units && block_rows() / p.rows.stride >= 4 * halo) {
    plan->row_blocks *= 2;
  }
  // Scratch of one slot. Smaller regions until one slot keeps the caller's limit; so whether a plan
  // exists does not hang on the number of threads.
  const auto set_slot_bytes = [&] {
    plan->steps_bytes = RoundUp(kMaxSteps * static_cast<int64_t>(sizeof(kernels::GemmStep)), 64);
    plan->offsets_bytes =
        RoundUp(2 * product_vectors() * static_cast<int64_t>(sizeof(int64_t)), 64);
    plan->lines_bytes = RoundUp(MostRead(p.rows, block_rows()) * line_bytes(), 64);
    const int64_t staging =
        RoundUp(product_vectors() * plan->lanes * p.in_channels * plan->compute_size, 64);
    plan->slot_bytes = plan->steps_bytes + plan->offsets_bytes + plan->lines_bytes + staging;
  };
  set_slot_bytes();
  const int64_t available = context.workspace_limit - kAlignmentSlack;
  while (plan->slot_bytes > available) {
    int64_t& blocks = plan->row_blocks < row_units ? plan->row_blocks : plan->column_blocks;
    const int64_t units = plan->row_blocks < row_units ? row_units : column_units;
    if (blocks >= units) {
      return OutOfMemory("workspace_limit is " + std::to_string(context.workspace_limit) +
                         " bytes; the pixels algorithm needs " +
                         std::to_string(plan->slot_bytes + kAlignmentSlack));
    }
    blocks = std::min(blocks * 2, units);
    set_slot_bytes();
  }
  const int64_t tasks = p.batch * plan->row_blocks * plan->column_blocks;
  plan->slots = p.multiply_adds() < 1e6
                    ? 1
                    : static_cast<int>(std::min<int64_t>(
                          {context.threads, tasks, available / plan->slot_bytes}));
  plan->workspace_bytes =
      std::max(plan->slots * plan->slot_bytes + kAlignmentSlack, plan->fallback->workspace_bytes);
  return {};
}

Status MakePlan(const Problem& problem, const PlanContext& context,
                std::unique_ptr<const AlgorithmPlan>* result) {
  auto plan = std::make_unique<PixelsPlan>();
  plan->problem = problem;
  plan->isa = context.isa;
  DGRAD_RETURN_IF_ERROR(kDirect.plan(problem, context, &plan->fallback));
  plan->compute_size = ComputeSizeOf(problem.dtype);
  plan->lanes = LanesOf(problem.dtype, context.isa);
  plan->chunks = CeilDivide(problem.out_channels, kChunk);
  DGRAD_RETURN_IF_ERROR(SplitAxis(problem.rows, &plan->row_phases));
  DGRAD_RETURN_IF_ERROR(SplitAxis(problem.columns, &plan->column_phases));
  plan->covers = CoversAxis(problem.rows, plan->row_phases) &&
                 static_cast<int64_t>(plan->column_phases.size()) ==
                     std::min(problem.columns.stride, problem.columns.in);
  int64_t row_taps_total = 0;
  for (const Phase& phase : plan->row_phases) {
    plan->row_taps_before.push_back(row_taps_total);
    row_taps_total += phase.taps;
  }
  double computed = 0;  // pixels times taps of whole vectors
  for (const Phase& phase : plan->column_phases) {
    const bool first = plan->column_taps_before.empty();
    const int64_t last_shift = phase.shift(phase.taps - 1);
    plan->most_shift = first ? last_shift : std::max(plan->most_shift, last_shift);
    plan->least_shift = first ? phase.first_shift : std::min(plan->least_shift, phase.first_shift);
    plan->column_taps_before.push_back(plan->column_taps_total);
    plan->column_taps_total += phase.taps;
    computed += static_cast<double>(phase.taps * RoundUp(phase.length, plan->lanes));
  }
  // No larger than the filter itself.
  const int64_t elements =
      row_taps_total * plan->column_taps_total * problem.in_channels * problem.out_channels;
  plan->packed_filter_bytes = kHeaderBytes + std::max(RoundUp(elements * plan->compute_size, 64),
                                                      plan->fallback->packed_filter_bytes);
  DGRAD_RETURN_IF_ERROR(ChooseBlocking(context, plan.get()));
  plan->footprint_bytes =
      plan->fallback->footprint_bytes +
      static_cast<int64_t>((plan->row_phases.size() + plan->column_phases.size()) *
                           (sizeof(Phase) + sizeof(int64_t)));
  constexpr double kMoved = 1.0;  // cycles of an element that is turned, read or written
  const auto row_taps = static_cast<double>(row_taps_total) *
                        static_cast<double>(CeilDivide(problem.rows.in, problem.rows.stride));
  // A line of each channel has its set-up, and so has each segment.
  const double lines = (problem.layout == Layout::kNchw ? 12 : 10) *
                       static_cast<double>(problem.batch * problem.rows.out * problem.out_channels);
  const double segments = 60 * static_cast<double>(problem.batch * problem.rows.in) *
                          static_cast<double>(plan->column_phases.size());
  plan->cycles = static_cast<double>(problem.batch * problem.in_channels * problem.out_channels) *
                     row_taps * computed / plan->lanes / 0.62 +
                 (IsHalf(problem.dtype) ? 2 : 1) * kMoved *
                     static_cast<double>(problem.out_backprop_elements()) +
                 lines + segments +
                 2 * kMoved * static_cast<double>(problem.in_backprop_elements());
  *result = std::move(plan);
  return {};
}

// Channels of a block are neighbours, in the order in which the kernel takes them.
template <typename S, typename T>
void Pack(const PixelsPlan& plan, const S* filter, T* to) {
  const Problem& p = plan.problem;
  for (const Phase& rows : plan.row_phases) {
    for (const Phase& columns : plan.column_phases) {
      for (int64_t b = 0; b < BlockCount(p.in_channels); ++b) {
        const Block block = BlockAt(p.in_channels, b);
        for (int64_t chunk = 0; chunk < plan.chunks; ++chunk) {
          const int64_t k0 = PartBegin(p.out_channels, plan.chunks, chunk);
          const int64_t k1 = PartBegin(p.out_channels, plan.chunks, chunk + 1);
          for (int64_t i = 0; i < rows.taps; ++i) {
            for (int64_t j = 0; j < columns.taps; ++j) {
              const S* const tap =
                  filter +
                  ((rows.tap(i) * p.columns.taps + columns.tap(j)) * p.in_channels + block.first) *
                      p.out_channels;
              for (int64_t k = k0; k < k1; ++k) {
                for (int64_t c = 0; c < block.count; ++c) {
                  *to++ = Widened(tap[c * p.out_channels + k]);
                }
              }
            }
          }
        }
      }
    }
  }
}

template <typename S, typename T>
Status Prepare(const PixelsPlan& plan, const S* filter, void* packed, Executor& executor,
               const Control& control) {
  auto* const header = static_cast<Header*>(packed);
  std::byte* const payload = static_cast<std::byte*>(packed) + kHeaderBytes;
  header->finite = AllFinite(filter, plan.problem.filter_elements()) ? 1 : 0;
  if (header->finite == 0) {
    return plan.fallback->PrepareFilter(filter, payload, executor, control);
  }
  return RunTasks(executor, 1, 1, control,
                  [&](int, int64_t) { Pack(plan, filter, reinterpret_cast<T*>(payload)); });
}

}  // namespace

Status PixelsPlan::PrepareFilter(const void* filter, void* packed, Executor& executor,
                                 const Control& control) const {
  return WithElementTypes(problem.dtype, [&](auto storage, auto compute) {
    return Prepare<decltype(storage), decltype(compute)>(
        *this, static_cast<const decltype(storage)*>(filter), packed, executor, control);
  });
}

std::string PixelsPlan::Describe() const {
  return "phases: " + std::to_string(row_phases.size()) + " of rows, " +
         std::to_string(column_phases.size()) +
         " of columns\ntasks: " + std::to_string(problem.batch) + " image x " +
         std::to_string(row_blocks) + " row x " + std::to_string(column_blocks) +
         " column blocks, vectors of " + std::to_string(lanes) + " pixels\ntiles: up to " +
         std::to_string(kernels::Lanes<float>(isa).max_rows[2]) + " vectors x 2 channels\n";
}

}  // namespace pixels

const Algorithm kPixels = {"pixels", &pixels::Refuse, &pixels::MakePlan};

}  // namespace dgrad
