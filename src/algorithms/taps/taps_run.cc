// Taps as columns at run time: one task per region of one image, row by row of in_backprop.
#include <algorithm>
#include <type_traits>

#include "src/algorithms/blocks.h"
#include "src/algorithms/element_types.h"
#include "src/algorithms/phases.h"
#include "src/algorithms/taps/taps_plan.h"
#include "src/algorithms/taps/taps_region.h"
#include "src/base/integer.h"
#include "src/kernels/convert/convert.h"
#include "src/kernels/taps/taps.h"
#include "src/threads/partition.h"

namespace dgrad::taps {
namespace {

constexpr int64_t kHotBytes = 16 * 1024;  // of out_backprop: read by all columns while in L1

constexpr int64_t kAheadPixels = 32;
constexpr int64_t kAheadBytes = 4096;  // of out_backprop, asked for by the dots

template <typename S, typename T>
class Runner {
 public:
  Runner(const TapsPlan& plan, const void* out_backprop, const void* packed, void* in_backprop,
         void* workspace)
      : plan_(plan),
        p_(plan.problem),
        kernels_(kernels::Taps<T>(plan.isa)),
        convert_(kernels::Convert(plan.isa)),
        source_(static_cast<const S*>(out_backprop)),
        packed_(static_cast<const T*>(packed)),
        result_(static_cast<S*>(in_backprop)),
        workspace_(static_cast<std::byte*>(workspace)) {}

  Status Run(Executor& executor, const Control& control) {
    return RunTasks(executor, plan_.slots, RegionCount(plan_), control, [&](int slot, int64_t i) {
      const auto region = RegionAt<T>(plan_, i, workspace_ + slot * plan_.slot_bytes);
      ForRows(
          plan_, region, [&](int64_t row, const IndexRange& taps) { Multiply(region, row, taps); },
          [&](int64_t h) { Sum(region, h); });
    });
  }

 private:
  using Region = taps::Region<T>;

  T* RingRow(const Region& region, int64_t row) const {
    return region.ring + row % plan_.ring * plan_.ring_row();
  }

  // One row of out_backprop by the taps that fall into the region.
  void Multiply(const Region& region, int64_t row, const IndexRange& taps) {
    const int64_t count = region.columns.end - region.columns.begin;
    const bool nhwc = p_.layout == Layout::kNhwc;
    const int64_t pixels = p_.rows.out * p_.columns.out;
    const int64_t pixel = row * p_.columns.out + region.columns.begin;
    const S* const from = source_ + region.image * pixels * p_.out_channels +
                          (nhwc ? pixel * p_.out_channels : pixel);
    kernels::TapsProductCall<T> call;
    call.a_row = nhwc ? p_.out_channels : 1;
    call.a_term = nhwc ? 1 : pixels;
    call.out_row = plan_.pitch();
    const T* a = nullptr;
    if constexpr (std::is_same_v<S, T>) {
      a = from;
    } else {
      a = region.line;
      if (nhwc) {
        kernels::Widen(convert_, from, region.line, count * p_.out_channels);
      } else {
        call.a_term = count;
        for (int64_t k = 0; k < p_.out_channels; ++k) {
          kernels::Widen(convert_, from + k * pixels, region.line + k * count, count);
        }
      }
    }
    T* const out = RingRow(region, row);
    if (plan_.dots) {
      kernels::TapsDotsCall<T> dots;
      dots.a = a;
      dots.a_row = call.a_row;
      dots.b = packed_;
      dots.terms = p_.out_channels;
      dots.rows = count;
      dots.out = out;
      dots.ahead = kAheadBytes / static_cast<int64_t>(sizeof(T));
      kernels_.dots(dots);
      return;
    }
    const int64_t parts = CeilDivide(count, HotPixels());
    for (int64_t part = 0; part < parts; ++part) {
      const IndexRange hot = PartAt(count, parts, part);
      call.out = out + hot.begin * plan_.pitch();
      call.a = a + hot.begin * call.a_row;
      for (int64_t b = 0; b < BlockCount(plan_.vectors); ++b) {
        const Block block = BlockAt(plan_.vectors, b);
        const Block met = Meeting(block, taps);
        if (met.count == 0) continue;
        call.b = packed_ + block.first * plan_.lanes * p_.out_channels +
                 (met.first - block.first) * plan_.lanes;
        call.b_term = block.count * plan_.lanes;
        MultiplyBlock(call, met, hot.end - hot.begin);
      }
    }
  }

  int64_t HotPixels() const {
    const int64_t size = static_cast<int64_t>(sizeof(T));
    return std::max<int64_t>(kHotBytes / (p_.out_channels * size), kernels::kTapsMaxRows);
  }

  // The vectors of a block with columns of these row taps; none if count is 0.
  Block Meeting(const Block& block, const IndexRange& taps) const {
    const int64_t per_tap = p_.columns.taps * plan_.inner;
    const auto meets = [&](int64_t vector) {
      const int64_t first = vector * plan_.lanes;
      const int64_t last = first + plan_.lanes - 1;
      const int64_t plane = first / plan_.plane_columns;
      if (last / plan_.plane_columns != plane) return true;
      return (first - plane * plan_.plane_columns) / per_tap < taps.end &&
             (last - plane * plan_.plane_columns) / per_tap >= taps.begin;
    };
    Block part = block;
    while (part.count > 0 && !meets(part.first + part.count - 1)) --part.count;
    while (part.count > 0 && !meets(part.first)) {
      ++part.first;
      --part.count;
    }
    return part;
  }

  void MultiplyBlock(const kernels::TapsProductCall<T>& given, const Block& block, int64_t count) {
    kernels::TapsProductCall<T> call = given;
    const int64_t tiles = CeilDivide(count, kernels_.max_rows[block.count]);
    for (int64_t t = 0; t < tiles; ++t) {
      const IndexRange rows = PartAt(count, tiles, t);
      const auto product = kernels_.products[block.count][rows.end - rows.begin];
      call.out = given.out + rows.begin * call.out_row + block.first * plan_.lanes;
      call.accumulate = false;
      for (int64_t chunk = 0; chunk < plan_.chunks; ++chunk) {
        const IndexRange terms = PartAt(p_.out_channels, plan_.chunks, chunk);
        call.a = given.a + rows.begin * call.a_row + terms.begin * call.a_term;
        call.b = given.b + terms.begin * call.b_term;
        call.terms = terms.end - terms.begin;
        // The next tile's share of out_backprop; in planes, too many for hardware to follow, what
        // some tiles later read.
        call.ahead = given.a + (rows.end + (call.a_term == 1 ? 0 : kAheadPixels)) * call.a_row +
                     terms.begin * call.a_term;
        call.ahead_step = call.a_term == 1 ? rows.end - rows.begin : call.a_term;
        product(call);
        call.accumulate = true;
      }
    }
  }

  // One row of in_backprop from the products kept.
  void Sum(const Region& region, int64_t h) {
    const int64_t stride = p_.columns.stride;
    const int64_t taps = FindTaps(region, h);
    for (int64_t plane = 0; plane < plan_.planes; ++plane) {
      for (int64_t g = region.groups.begin; g < region.groups.end;) {
        // Groups that meet the same columns of out_backprop: those inside, else one.
        int64_t end = g + 1;
        if (g >= plan_.overlap - 1 && g < p_.columns.out) {
          end = std::min(region.groups.end, p_.columns.out);
        } else if (g >= p_.columns.out + plan_.overlap - 1) {
          end = region.groups.end;
        }
        SumRun(region, taps, plane, {g, end});
        g = end;
      }
      const int64_t origin = region.groups.begin * stride - p_.columns.pad_before;
      const int64_t begin = std::max<int64_t>(origin, 0);
      const int64_t end =
          std::min(region.groups.end * stride - p_.columns.pad_before, p_.columns.in);
      S* const to =
          result_ +
          (((region.image * plan_.planes + plane) * p_.rows.in + h) * p_.columns.in + begin) *
              plan_.inner;
      kernels::Narrow(convert_, region.row + (begin - origin) * plan_.inner, to,
                      (end - begin) * plan_.inner);
    }
  }

  // The products of the taps that row h meets, each at the region's first column.
  int64_t FindTaps(const Region& region, int64_t h) const {
    const int64_t row_columns = p_.columns.taps * plan_.inner;
    int64_t count = 0;
    ForRowTaps(p_.rows, h, [&](int64_t tap, int64_t row) {
      region.taps[count++] = RingRow(region, row) + tap * row_columns;
    });
    return count;
  }

  void SumRun(const Region& region, int64_t taps, int64_t plane, const IndexRange& groups) {
    const int64_t pitch = plan_.pitch();
    const int64_t first = std::max<int64_t>(0, groups.begin - (p_.columns.out - 1));
    const int64_t last = std::min(plan_.overlap - 1, groups.begin);
    const bool partial = plan_.rest < plan_.width && last == plan_.overlap - 1 && first <= last;
    const int64_t whole_end = partial ? last : last + 1;
    const int64_t offset =
        plane * plan_.plane_columns + (groups.begin - region.columns.begin) * pitch;
    kernels::TapsSumCall<T> call;
    call.source = region.sources;
    call.sources = 0;
    // Whole groups of all row taps first, then what is left of the last one.
    const auto add = [&](int64_t begin, int64_t end) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        for (int64_t m = begin; m < end; ++m) {
          region.sources[call.sources++] = region.taps[tap] + offset + m * (plan_.width - pitch);
        }
      }
    };
    add(first, whole_end);
    call.whole = call.sources;
    if (partial) add(last, last + 1);
    call.width = plan_.width;
    call.rest = plan_.rest;
    call.groups = groups.end - groups.begin;
    call.source_step = pitch;
    call.out = region.row + (groups.begin - region.groups.begin) * plan_.width;
    kernels_.sum(call);
  }

  const TapsPlan& plan_;
  const Problem& p_;
  const kernels::TapsFamily<T>& kernels_;
  const kernels::ConvertFamily& convert_;
  const S* const source_;
  const T* const packed_;
  S* const result_;
  std::byte* const workspace_;
};

}  // namespace

Status TapsPlan::Run(const void* out_backprop, const void* packed, void* in_backprop,
                     void* workspace, Executor& executor, const Control& control) const {
  if (lines) {
    return RunLines(*this, out_backprop, packed, in_backprop, workspace, executor, control);
  }
  return WithElementTypes(problem.dtype, [&](auto storage, auto compute) {
    Runner<decltype(storage), decltype(compute)> runner(*this, out_backprop, packed, in_backprop,
                                                        workspace);
    return runner.Run(executor, control);
  });
}

}  // namespace dgrad::taps
