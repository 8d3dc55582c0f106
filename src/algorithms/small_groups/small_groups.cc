// Groups of few channels: refuse, plan, prepare the filter. small_groups_run.cc has the rest.
#include <algorithm>
#include <memory>
#include <string>

#include "src/algorithms/small_groups/small_groups_plan.h"
#include "src/base/cache_size.h"
#include "src/base/integer.h"
#include "src/threads/partition.h"

namespace dgrad {
namespace small_groups {
namespace {

constexpr int64_t kMostParts = 256;  // runs of pixels of a row, and residues of rows

// The same on every instruction set: the widest vector's lanes.
std::string Refuse(const Problem& problem, const PlanContext&) {
  const int64_t channels = problem.group_in_channels();
  const int64_t widest = problem.dtype == DType::kF64 ? 8 : 16;
  if (problem.groups <= 1) return "it needs more than one group";
  if (channels != problem.group_out_channels()) {
    return "it needs groups with as many channels of out_backprop as of in_backprop";
  }
  if (channels > widest || (channels & (channels - 1)) != 0) {
    return "it needs groups of 1, 2, 4, ... " + std::to_string(widest) + " channels";
  }
  if (problem.in_channels < widest) {
    return "it needs " + std::to_string(widest) + " channels at least";
  }
  if (problem.in_backprop_elements() == 0 || problem.out_backprop_elements() == 0 ||
      problem.filter_elements() == 0) {
    return "a tensor is empty";
  }
  if (problem.columns.taps > kernels::kGroupRowMostTerms / channels) {
    return "a row of the filter has too many terms";
  }
  const auto many = [](const Axis& axis) {
    return axis.stride > kMostParts || axis.dilation > kMostParts ||
           axis.stride * axis.dilation > kMostParts;
  };
  if (many(problem.rows) || many(problem.columns)) {
    return "strides and dilations split the rows into too many parts";
  }
  return {};
}

template <typename S, typename T>
int BestTile(Isa isa, int64_t pixels) {
  return kernels::BestGroupRowTile(kernels::GroupRows<S, T>(isa), pixels);
}

// Pixels [begin, end) of the run `part` describes become a part of their own.
void AddPart(const SmallGroupsPlan& plan, kernels::GroupRowPart part, int64_t begin, int64_t end,
             std::vector<kernels::GroupRowPart>* parts) {
  if (begin >= end) return;
  part.in_offset += begin * part.in_step;
  part.in_begin -= begin;
  part.in_end -= begin;
  part.out_offset += begin * part.out_step;
  part.pixels = end - begin;
  // The sizes are the same for every type.
  part.tile = BestTile<float, float>(plan.isa, part.pixels);
  parts->push_back(part);
}

void MakeParts(SmallGroupsPlan* plan) {
  const Axis& axis = plan->problem.columns;
  const int64_t pixel = plan->pixel_channels;
  std::vector<bool> has_taps(static_cast<size_t>(std::min(axis.stride, axis.in)), false);
  int64_t taps_before = 0;
  for (const Phase& phase : plan->column_phases) {
    has_taps[static_cast<size_t>(phase.residue)] = true;
    // Pixels j that are `step` apart meet inputs j - shift(i) that are as far apart.
    const int64_t step = phase.shift_step;
    for (int64_t run = 0; run < std::min(step, phase.length); ++run) {
      kernels::GroupRowPart part;
      const int64_t offset = run - phase.shift(phase.taps - 1);  // input 0 of pixel 0
      const int64_t first = FloorModulo(offset, step);           // the first that exists
      const int64_t existing = axis.out > first ? CeilDivide(axis.out - first, step) : 0;
      const int64_t pixels = CeilDivide(phase.length - run, step);
      part.in_offset = offset * pixel;
      part.in_step = step * pixel;
      part.in_begin = -FloorDivide(offset, step);
      part.in_end = part.in_begin + existing;
      part.out_offset = (phase.residue + run * axis.stride) * pixel;
      part.out_step = step * axis.stride * pixel;
      part.b_offset = taps_before * plan->terms * plan->lanes;
      part.taps = static_cast<int32_t>(phase.taps);
      // Pixel j meets inputs j .. j + taps - 1: those without an existing one are zeros.
      const int64_t begin = std::clamp<int64_t>(part.in_begin - phase.taps + 1, 0, pixels);
      const int64_t end = std::clamp<int64_t>(existing > 0 ? part.in_end : 0, begin, pixels);
      AddPart(*plan, part, begin, end, &plan->parts);
      part.taps = 0;
      AddPart(*plan, part, 0, begin, &plan->parts);
      AddPart(*plan, part, end, pixels, &plan->parts);
    }
    taps_before += phase.taps;
  }
  for (size_t residue = 0; residue < has_taps.size(); ++residue) {
    if (has_taps[residue]) continue;
    kernels::GroupRowPart part;
    part.out_offset = static_cast<int64_t>(residue) * pixel;
    part.out_step = axis.stride * pixel;
    AddPart(*plan, part, 0, CeilDivide(axis.in - static_cast<int64_t>(residue), axis.stride),
            &plan->parts);
  }
}

Status ChooseBlocking(const PlanContext& context, SmallGroupsPlan* plan) {
  constexpr double kTaskWork = 1e8;  // multiply-adds: a cancelled run ends within milliseconds
  constexpr double kLeastTaskWork = 1e5;
  const Problem& p = plan->problem;
  const CacheSizes& caches = GetCacheSizes();
  const int64_t l2 = caches.l2;
  const int64_t units = plan->channel_units();
  // Groups of a full-size type are fastest a vector at a time; one of a half type is half a line.
  const bool one = plan->converts || (plan->terms > 1 && !IsHalf(p.dtype));
  plan->call_vectors = one ? 1 : plan->vectors;
  while (plan->call_vectors > 1 &&
         plan->call_vectors * plan->vector_size() * plan->compute_size > caches.l1d) {
    plan->call_vectors = CeilDivide(plan->call_vectors, 2);
  }
  if (plan->converts) plan->channel_blocks = CeilDivide(units, plan->call_vectors);
  const auto block_rows = [&] { return CeilDivide(p.rows.in, plan->row_blocks); };
  const auto pixel_bytes = [&] {
    const int64_t channels =
        plan->converts ? plan->pixel_channels : CeilDivide(p.in_channels, plan->channel_blocks);
    return channels * plan->compute_size;
  };
  const auto read_bytes = [&] {
    return SaturatingMultiply(MostRead(p.rows, block_rows()) * p.columns.out, pixel_bytes());
  };
  const auto write_bytes = [&] {
    return SaturatingMultiply(block_rows() * p.columns.in, pixel_bytes());
  };
  // Rows that neighbouring regions both read should be few.
  const int64_t halo = MostRead(p.rows, 1) * p.rows.stride;
  while (block_rows() > 2 * halo && read_bytes() + write_bytes() > l2 / 2) plan->row_blocks *= 2;
  const double work = p.multiply_adds() / static_cast<double>(p.batch);
  const double wanted =
      std::max(context.threads > 1 ? 4.0 * context.threads : 1.0, p.multiply_adds() / kTaskWork);
  for (;;) {
    const double tasks =
        static_cast<double>(p.batch) * static_cast<double>(plan->row_blocks * plan->channel_blocks);
    const double task_work = work * static_cast<double>(p.batch) / tasks;
    if (tasks >= wanted || task_work < 2 * kLeastTaskWork) break;
    // With narrow calls, rows that are read twice cost little beside the work of a large filter.
    const bool cuts_rows =
        block_rows() > 2 * halo || (plan->call_vectors == 1 && !plan->converts && block_rows() > 1);
    if (plan->channel_blocks * 2 * plan->call_vectors <= units) {
      plan->channel_blocks *= 2;
    } else if (cuts_rows) {
      plan->row_blocks *= 2;
    } else if (plan->call_vectors > 1) {
      plan->call_vectors = CeilDivide(plan->call_vectors, 2);
    } else {
      break;
    }
  }
  // Scratch of one slot, whose size the number of threads does not change.
  const auto set_slot_bytes = [&] {
    plan->read_bytes = plan->converts ? RoundUp(read_bytes(), 64) : 0;
    plan->slot_bytes = plan->converts ? plan->read_bytes + RoundUp(write_bytes(), 64) : 0;
  };
  set_slot_bytes();
  const int64_t available = context.workspace_limit - kAlignmentSlack;
  while (plan->slot_bytes > available) {
    if (plan->row_blocks >= p.rows.in) {
      return OutOfMemory("workspace_limit is " + std::to_string(context.workspace_limit) +
                         " bytes; the small_groups algorithm needs " +
                         std::to_string(plan->slot_bytes + kAlignmentSlack));
    }
    plan->row_blocks = std::min(plan->row_blocks * 2, p.rows.in);
    set_slot_bytes();
  }
  plan->row_blocks = std::min(plan->row_blocks, p.rows.in);
  const int64_t tasks = p.batch * plan->row_blocks * plan->channel_blocks;
  plan->slots =
      p.multiply_adds() < 1e6 ? 1 : static_cast<int>(std::min<int64_t>(context.threads, tasks));
  if (plan->converts) {
    plan->slots = static_cast<int>(
        std::min<int64_t>(plan->slots, available / std::max<int64_t>(1, plan->slot_bytes)));
    plan->workspace_bytes = plan->slots * plan->slot_bytes + kAlignmentSlack;
  }
  return {};
}

// One multiply-add a cycle and vector; what is read and written in place costs every algorithm the
// same.
double PredictCycles(const PlanContext& context, const SmallGroupsPlan& plan) {
  constexpr double kPart = 25;    // cycles to begin a part
  constexpr double kMoved = 0.7;  // of an element that is converted
  constexpr int64_t kLatency = 4;
  const Problem& p = plan.problem;
  const auto& family = kernels::GroupRows<float, float>(plan.isa);
  double row = 0;  // of a row tap, term and vector
  for (const kernels::GroupRowPart& part : plan.parts) {
    const int64_t size = family.tile_pixels[part.tile];
    row +=
        static_cast<double>(CeilDivide(part.pixels, size) * std::max(size, kLatency) * part.taps);
  }
  const double row_taps = static_cast<double>(plan.row_taps_total) *
                          static_cast<double>(CeilDivide(p.rows.in, p.rows.stride));
  const double calls = static_cast<double>(p.rows.in) * static_cast<double>(plan.parts.size());
  double cycles = static_cast<double>(p.batch * plan.vectors) *
                  (row * row_taps * static_cast<double>(plan.terms) / 0.85 + calls * kPart);
  if (plan.converts) {
    cycles += kMoved * static_cast<double>(p.out_backprop_elements() + p.in_backprop_elements());
  }
  if (!context.filter_packed) {
    cycles += 1.5 * static_cast<double>(plan.packed_filter_bytes) /
              static_cast<double>(plan.compute_size);
  }
  return cycles;
}

Status MakePlan(const Problem& problem, const PlanContext& context,
                std::unique_ptr<const AlgorithmPlan>* result) {
  const int lanes = LanesOf(problem.dtype, context.isa);
  if (problem.group_in_channels() > lanes) return kGrouped.plan(problem, context, result);
  auto plan = std::make_unique<SmallGroupsPlan>();
  const Problem& p = plan->problem = problem;
  plan->isa = context.isa;
  plan->compute_size = ComputeSizeOf(p.dtype);
  plan->lanes = lanes;
  plan->terms = p.group_out_channels();
  plan->vectors = CeilDivide(p.in_channels, plan->lanes);
  DGRAD_RETURN_IF_ERROR(SplitAxis(p.rows, &plan->row_phases));
  DGRAD_RETURN_IF_ERROR(SplitAxis(p.columns, &plan->column_phases));
  plan->row_phase_of.assign(static_cast<size_t>(p.rows.stride), -1);
  for (size_t i = 0; i < plan->row_phases.size(); ++i) {
    const Phase& phase = plan->row_phases[i];
    plan->row_phase_of[static_cast<size_t>(phase.residue)] = static_cast<int64_t>(i);
    plan->row_taps_before.push_back(plan->row_taps_total);
    plan->row_taps_total += phase.taps;
  }
  for (const Phase& phase : plan->column_phases) {
    plan->row_size += phase.taps * plan->terms * plan->lanes;
  }
  plan->packed_filter_bytes = plan->vectors * plan->vector_size() * plan->compute_size;
  plan->converts = p.layout == Layout::kNchw;
  // A block of one unit, whose last two vectors may overlap.
  const int64_t overlap = plan->channel_units() < plan->vectors ? 2 : 1;
  plan->pixel_channels =
      plan->converts ? std::min(p.in_channels, overlap * plan->lanes) : p.in_channels;
  MakeParts(plan.get());
  DGRAD_RETURN_IF_ERROR(ChooseBlocking(context, plan.get()));
  plan->footprint_bytes = static_cast<int64_t>(
      (plan->row_phases.size() + plan->column_phases.size()) * sizeof(Phase) +
      (plan->row_phase_of.size() + plan->row_taps_before.size()) * sizeof(int64_t) +
      plan->parts.size() * sizeof(kernels::GroupRowPart));
  plan->cycles = PredictCycles(context, *plan);
  *result = std::move(plan);
  return {};
}

// One vector of channels.
template <typename S, typename T>
void PackVector(const SmallGroupsPlan& plan, const S* filter, int64_t vector, T* to) {
  const Problem& p = plan.problem;
  const int64_t channel = plan.FirstChannel(vector);
  const int64_t groups = plan.lanes / plan.terms;
  for (const Phase& rows : plan.row_phases) {
    for (int64_t i = 0; i < rows.taps; ++i) {
      for (const Phase& columns : plan.column_phases) {
        for (int64_t j = 0; j < columns.taps; ++j) {
          const S* const tap =
              filter +
              (rows.tap(i) * p.columns.taps + columns.tap(j)) * plan.terms * p.out_channels +
              channel;
          T* const from_right = to + (columns.taps - 1 - j) * plan.lanes;  // inputs rise, taps fall
          if (plan.terms == 1) {
            for (int64_t lane = 0; lane < plan.lanes; ++lane) from_right[lane] = Widened(tap[lane]);
            continue;
          }
          for (int64_t c = 0; c < plan.terms; ++c) {
            for (int64_t group = 0; group < groups; ++group) {
              const int64_t lane = group * plan.terms + c;
              for (int64_t term = 0; term < plan.terms; ++term) {
                from_right[term * columns.taps * plan.lanes + lane] =
                    Widened(tap[c * p.out_channels + group * plan.terms + term]);
              }
            }
          }
        }
        to += columns.taps * plan.terms * plan.lanes;
      }
    }
  }
}

}  // namespace

Status SmallGroupsPlan::PrepareFilter(const void* filter, void* packed, Executor& executor,
                                      const Control& control) const {
  return WithElementTypes(problem.dtype, [&](auto storage, auto compute) {
    using S = decltype(storage);
    using T = decltype(compute);
    const int pack_slots = packed_filter_bytes < (int64_t{256} << 10) ? 1 : slots;
    return RunTasks(executor, pack_slots, vectors, control, [&](int, int64_t vector) {
      PackVector(*this, static_cast<const S*>(filter), vector,
                 static_cast<T*>(packed) + vector * vector_size());
    });
  });
}

std::string SmallGroupsPlan::Describe() const {
  std::string text = "phases: " + std::to_string(row_phases.size()) + " of rows, " +
                     std::to_string(column_phases.size()) +
                     " of columns\ntasks: " + std::to_string(problem.batch) + " image x " +
                     std::to_string(row_blocks) + " row x " + std::to_string(channel_blocks) +
                     " channel blocks\ntiles: up to ";
  int64_t most = 0;
  const auto& family = kernels::GroupRows<float, float>(isa);
  for (const kernels::GroupRowPart& part : parts) {
    most = std::max<int64_t>(most, family.tile_pixels[part.tile]);
  }
  text += std::to_string(most) + " pixels x " + std::to_string(lanes) + " channels";
  if (converts) text += "\ntensors are converted in scratch memory";
  return text + "\n";
}

}  // namespace small_groups

const Algorithm kSmallGroups = {"small_groups", &small_groups::Refuse, &small_groups::MakePlan};

}  // namespace dgrad
