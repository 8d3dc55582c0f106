// Phase-direct implicit product, refuse and plan: "direct" for any problem, type, layout and group;
// "grouped" for groups of few channels, depthwise included; "dot" for pairs of bfloat16.
#include <algorithm>
#include <memory>

#include "src/algorithms/direct/direct_plan.h"
#include "src/algorithms/element_types.h"
#include "src/base/integer.h"

namespace dgrad {
namespace direct {
namespace {

// True when `next` can share the product of the group that `phase` begins with `fold` residues.
bool Folds(const Phase& phase, int64_t fold, int64_t length, const Phase& next) {
  return next.residue == phase.residue + fold && next.first_tap == phase.first_tap + fold &&
         next.taps == phase.taps && next.tap_step == phase.tap_step &&
         next.first_shift == phase.first_shift && next.shift_step == phase.shift_step &&
         next.length >= length - 1;
}

void GroupColumns(const std::vector<Phase>& phases, bool may_fold, DirectPlan* plan) {
  const int64_t channels = plan->problem.group_in_channels();
  int64_t packed = 0;
  for (size_t i = 0; i < phases.size();) {
    ColumnGroup group;
    group.phase = phases[i];
    group.full_length = phases[i].length;
    size_t next = i + 1;
    while (may_fold && next < phases.size() &&
           Folds(group.phase, group.fold, group.phase.length, phases[next])) {
      group.full_length = phases[next].length;
      ++group.fold;
      ++next;
    }
    group.columns = group.fold * channels;
    group.vectors = plan->lanes_are_groups ? group.columns : CeilDivide(group.columns, plan->lanes);
    group.packed_before = packed;
    packed += group.phase.taps * group.vectors;
    plan->column_groups.push_back(group);
    i = next;
  }
}

// The share of an axis' products that land on in_backprop; the others are never multiplied.
double LandingShare(const Axis& axis) {
  constexpr int64_t kMostTaps = 4096;  // a plan should not take long
  if (axis.taps > kMostTaps) return 1;
  int64_t landing = 0;
  for (int64_t tap = 0; tap < axis.taps; ++tap) {
    const int64_t offset = tap * axis.dilation - axis.pad_before;
    const int64_t begin = offset >= 0 ? 0 : CeilDivide(-offset, axis.stride);
    const int64_t end = offset >= axis.in ? 0 : (axis.in - 1 - offset) / axis.stride + 1;
    landing += std::max<int64_t>(0, std::min(end, axis.out) - begin);
  }
  return static_cast<double>(landing) /
         (static_cast<double>(axis.taps) * static_cast<double>(axis.out));
}

// A guess good enough to choose between algorithms; one multiply-add a cycle and vector.
double PredictCycles(const PlanContext& context, const DirectPlan& plan) {
  const Problem& p = plan.problem;
  double useful = 0;  // of the lanes computed
  double computed = 0;
  for (const ColumnGroup& group : plan.column_groups) {
    const auto taps = static_cast<double>(group.phase.taps);
    useful += taps * static_cast<double>(group.columns * p.groups);
    computed += taps * static_cast<double>(group.vectors * plan.lanes * plan.channel_groups);
  }
  const int64_t vectors = plan.column_groups[0].vectors;
  // Loads, not multiplications, bound narrow tiles.
  const double tile =
      plan.lanes_are_groups ? (vectors == 1 ? 0.5 : 0.7) : (vectors == 1 ? 0.7 : 0.9);
  double cycles = p.multiply_adds() * LandingShare(p.rows) * LandingShare(p.columns) * computed /
                  useful / plan.lanes / tile;
  constexpr double kMoved = 1.5;  // cycles of an element that is moved to another place
  if (plan.converts_in) cycles += kMoved * static_cast<double>(p.out_backprop_elements());
  if (plan.stages_out) cycles += kMoved * static_cast<double>(p.in_backprop_elements());
  if (!context.filter_packed) {
    cycles += kMoved * static_cast<double>(plan.packed_filter_bytes) /
              static_cast<double>(plan.compute_size);
  }
  return cycles;
}

// Whether the pixels of a tile lie in one set of the first cache, which then keeps none of them
// until their next channel is read. (Sets repeat every 4 KiB on all processors of today.)
bool PixelsCollide(const DirectPlan& plan) {
  constexpr int64_t kSets = 4096;
  constexpr int64_t kWays = 8;
  const Problem& p = plan.problem;
  return !plan.lanes_are_groups && p.out_channels * plan.compute_size % kSets == 0 &&
         p.batch * p.rows.out * p.columns.out > kWays;
}

enum class Kind { kDirect, kGrouped, kDot };

// Whether every element's terms are multiplied in one go, so that a tile holds their sum. Of the
// task grid, threads and workspace it must not hang: the packed filter follows from it.
bool IsOnePass(const DirectPlan& plan, const std::vector<Phase>& column_phases) {
  int64_t rows = 0;
  int64_t columns = 0;
  for (const Phase& phase : plan.row_phases) rows = std::max(rows, phase.taps);
  for (const Phase& phase : column_phases) columns = std::max(columns, phase.taps);
  const int64_t taps = SaturatingMultiply(rows, columns);
  return SaturatingMultiply(taps, plan.term_chunks) <= kMaxSteps - kMaxTerms &&
         SaturatingMultiply(taps, plan.problem.group_out_channels()) <=
             PassRows(plan, kWidestBlock);
}

Status MakePlan(const Problem& given, const PlanContext& context, Kind kind, bool may_fold,
                std::unique_ptr<const DirectPlan>* result) {
  auto plan = std::make_unique<DirectPlan>();
  plan->problem = given;
  plan->out_elements = given.out_channels;
  plan->isa = context.isa;
  const bool lanes_are_groups = kind == Kind::kGrouped;
  plan->lanes_are_groups = lanes_are_groups;
  plan->terms_are_pairs = kind == Kind::kDot;
  if (plan->terms_are_pairs) {
    plan->problem.out_channels = CeilDivide(given.out_channels, 2);
    plan->partial_terms /= 2;
  }
  const Problem& problem = plan->problem;
  const bool half = IsHalf(problem.dtype);
  plan->compute_size = ComputeSizeOf(problem.dtype);
  plan->lanes = LanesOf(problem.dtype, context.isa);
  plan->channel_groups =
      lanes_are_groups ? CeilDivide(problem.groups, plan->lanes) : problem.groups;
  std::vector<Phase> column_phases;
  const bool sums = problem.in_backprop_elements() > 0 && problem.out_backprop_elements() > 0 &&
                    problem.filter_elements() > 0;
  if (sums) {
    DGRAD_RETURN_IF_ERROR(SplitAxis(problem.rows, &plan->row_phases));
    DGRAD_RETURN_IF_ERROR(SplitAxis(problem.columns, &column_phases));
  }
  if (plan->row_phases.empty() || column_phases.empty()) {
    // No tap lands anywhere: a result of zeros, by the zero fill alone.
    plan->row_phases.clear();
    plan->covers = false;
    plan->slots = context.threads;
    plan->cycles = static_cast<double>(problem.in_backprop_bytes()) / 32;
    *result = std::move(plan);
    return {};
  }
  plan->term_chunks = CeilDivide(problem.group_out_channels(), plan->partial_terms);
  // A plane of one pixel or one channel lies the same way in both layouts.
  const bool nchw = problem.layout == Layout::kNchw;
  const bool turns_in =
      nchw && given.out_channels > 1 && problem.rows.out * problem.columns.out > 1;
  const bool turns_out =
      nchw && problem.in_channels > 1 && problem.rows.in * problem.columns.in > 1;
  if (plan->terms_are_pairs) {
    // Nothing is widened, and tiles round complete sums themselves.
    plan->converts_in = turns_in || given.out_channels % 2 != 0;
    plan->stages_out = turns_out || !IsOnePass(*plan, column_phases);
  } else {
    plan->converts_in = half || turns_in;
    plan->stages_out = half || turns_out;
  }
  plan->input_pitch = problem.out_channels;
  if (PixelsCollide(*plan)) {
    plan->converts_in = true;
    plan->input_pitch += 64 / plan->compute_size;
  }
  // Scratch has the same channel of all groups side by side.
  if (lanes_are_groups && problem.group_out_channels() > 1) plan->converts_in = true;
  if (lanes_are_groups && problem.group_in_channels() > 1) plan->stages_out = true;
  plan->covers =
      CoversAxis(problem.rows, plan->row_phases) && CoversAxis(problem.columns, column_phases);
  GroupColumns(column_phases, may_fold && problem.groups == 1 && !plan->stages_out, plan.get());
  for (const Phase& phase : plan->row_phases) {
    plan->row_taps_before.push_back(plan->row_taps_total);
    plan->row_taps_total += phase.taps;
  }

  // Whole vectors can make the packed filter much larger than the filter, hence the checks.
  const auto multiply = [](int64_t a, int64_t b, int64_t* product) {
    return !__builtin_mul_overflow(a, b, product);
  };
  int64_t bytes = 0;
  if (!multiply(plan->vectors_total(), plan->row_taps_total, &plan->group_stride) ||
      !multiply(plan->group_stride, problem.group_out_channels(), &plan->group_stride) ||
      !multiply(plan->group_stride, plan->lanes, &plan->group_stride) ||
      !multiply(plan->group_stride, plan->channel_groups, &bytes) ||
      !multiply(bytes, plan->compute_size, &bytes)) {
    return OutOfMemory("the packed filter would take more than 2^63 bytes");
  }
  plan->packed_filter_bytes = bytes;
  DGRAD_RETURN_IF_ERROR(ChooseBlocking(context, plan.get()));
  plan->footprint_bytes =
      static_cast<int64_t>(plan->row_phases.size() * (sizeof(Phase) + sizeof(int64_t)) +
                           plan->column_groups.size() * sizeof(ColumnGroup));
  plan->cycles = PredictCycles(context, *plan);
  *result = std::move(plan);
  return {};
}

Status MakeAnyPlan(const Problem& problem, const PlanContext& context, Kind kind,
                   std::unique_ptr<const AlgorithmPlan>* plan) {
  std::unique_ptr<const DirectPlan> made;
  DGRAD_RETURN_IF_ERROR(MakePlan(problem, context, kind, true, &made));
  *plan = std::move(made);
  return {};
}

std::string RefuseDirect(const Problem&, const PlanContext&) { return {}; }

Status PlanDirect(const Problem& problem, const PlanContext& context,
                  std::unique_ptr<const AlgorithmPlan>* plan) {
  return MakeAnyPlan(problem, context, Kind::kDirect, plan);
}

std::string RefuseGrouped(const Problem& problem, const PlanContext&) {
  constexpr int64_t kMostChannels = int64_t{1} << 20;  // whose order a plan remembers
  if (problem.groups <= 1) return "it needs more than one group";
  if (std::max(problem.in_channels, problem.out_channels) > kMostChannels) {
    return "it serves at most 1048576 channels";
  }
  return {};
}

Status PlanGrouped(const Problem& problem, const PlanContext& context,
                   std::unique_ptr<const AlgorithmPlan>* plan) {
  return MakeAnyPlan(problem, context, Kind::kGrouped, plan);
}

std::string RefuseDot(const Problem& problem, const PlanContext& context) {
  if (problem.dtype != DType::kBF16) return "it serves bfloat16";
  if (context.strict) return "accuracy is strict: processors round pairs of products differently";
  if (context.isa != Isa::kAvx512 || !HasFastBf16Dot() || kernels::Dot<float>() == nullptr) {
    return "it needs avx512 and a processor that multiplies pairs of bfloat16 at full rate "
           "(AVX512_BF16 of AMD)";
  }
  if (problem.groups > 1 && problem.group_out_channels() % 2 != 0) {
    return "it needs an even number of channels of out_backprop in a group, or one group";
  }
  return {};
}

Status PlanDot(const Problem& problem, const PlanContext& context,
               std::unique_ptr<const AlgorithmPlan>* plan) {
  return MakeAnyPlan(problem, context, Kind::kDot, plan);
}

}  // namespace

Status MakePlanWithoutFolds(const Problem& problem, const PlanContext& context,
                            std::unique_ptr<const DirectPlan>* plan) {
  return MakePlan(problem, context, Kind::kDirect, false, plan);
}

}  // namespace direct

const Algorithm kDirect = {"direct", &direct::RefuseDirect, &direct::PlanDirect};
const Algorithm kGrouped = {"grouped", &direct::RefuseGrouped, &direct::PlanGrouped};
const Algorithm kDot = {"dot", &direct::RefuseDot, &direct::PlanDot};

}  // namespace dgrad
