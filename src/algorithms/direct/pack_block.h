// Packs one block of columns of the filter, in the order in which the kernel reads it.
#ifndef DGRAD_ALGORITHMS_DIRECT_PACK_BLOCK_H_
#define DGRAD_ALGORITHMS_DIRECT_PACK_BLOCK_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "src/algorithms/direct/direct_plan.h"
#include "src/base/integer.h"
#include "src/kernels/convert/convert.h"
#include "src/kernels/dot/dot.h"
#include "src/kernels/transpose/transpose.h"
#include "src/threads/partition.h"

namespace dgrad::direct {

// Columns whose sources are `pitch` apart: to[t * width + n] = from[n * pitch + t].
template <typename S, typename T>
void PackRun(const DirectPlan& plan, const S* from, int64_t pitch, T* to, int64_t width,
             int64_t columns, int64_t terms) {
  const kernels::TransposeKernel<T> transpose = kernels::Transpose<T>(plan.isa);
  if constexpr (std::is_same_v<S, T>) {
    transpose(from, pitch, to, width, columns, terms);
  } else {
    const kernels::ConvertFamily& convert = kernels::Convert(plan.isa);
    constexpr int64_t kLines = 16;
    T lines[kLines * kMaxTerms];
    for (int64_t n = 0; n < columns; n += kLines) {
      const int64_t count = std::min(kLines, columns - n);
      for (int64_t i = 0; i < count; ++i) {
        kernels::Widen(convert, from + (n + i) * pitch, lines + i * kMaxTerms, terms);
      }
      transpose(lines, kMaxTerms, to + n, width, count, terms);
    }
  }
}

// Pairs of bfloat16 are moved as they are, as integers of their size, which want to be aligned. Of
// an odd number of elements the last pair gets a zero.
inline void PackRun(const DirectPlan& plan, const BFloat16* from, int64_t pitch,
                    kernels::BFloat16Pair* to, int64_t width, int64_t columns, int64_t elements) {
  static_assert(sizeof(kernels::BFloat16Pair) == sizeof(int32_t));
  const kernels::TransposeKernel<int32_t> transpose = kernels::Transpose<int32_t>(plan.isa);
  const int64_t terms = CeilDivide(elements, 2);
  constexpr int64_t kLines = 16;
  int32_t lines[kLines * kMaxTerms];
  for (int64_t n = 0; n < columns; n += kLines) {
    const int64_t count = std::min(kLines, columns - n);
    for (int64_t i = 0; i < count; ++i) {
      int32_t* const line = lines + i * kMaxTerms;
      line[terms - 1] = 0;
      std::memcpy(line, from + (n + i) * pitch, static_cast<size_t>(elements) * sizeof(BFloat16));
    }
    transpose(lines, kMaxTerms, reinterpret_cast<int32_t*>(to + n), width, count, terms);
  }
}

// One tap and one chunk of terms of one block: [term][vector][lane].
template <typename S, typename T>
void PackTap(const DirectPlan& plan, const S* filter, int64_t channel_group, int64_t row_tap,
             const ColumnGroup& columns, int64_t column_tap, Block block, int64_t k0, int64_t terms,
             T* to) {
  // Terms may be pairs of the filter's elements.
  constexpr bool kPairs = std::is_same_v<S, kernels::BFloat16Pair>;
  using Element = std::conditional_t<kPairs, BFloat16, S>;
  constexpr int64_t kOfTerm = kPairs ? 2 : 1;
  const Problem& p = plan.problem;
  const int64_t channels = p.group_in_channels();
  const int64_t group_elements = plan.out_elements / p.groups;
  const int64_t elements = std::min(terms * kOfTerm, group_elements - k0 * kOfTerm);
  const int64_t width = block.count * plan.lanes;
  const auto source = [&](int64_t tap, int64_t channel, int64_t group) {
    return reinterpret_cast<const Element*>(filter) +
           ((row_tap * p.columns.taps + tap) * channels + channel) * plan.out_elements +
           group * group_elements + k0 * kOfTerm;
  };
  const int64_t tap = columns.phase.tap(column_tap);
  int64_t filled = 0;
  if (plan.lanes_are_groups) {
    const int64_t group = channel_group * plan.lanes;
    const int64_t used = std::min<int64_t>(plan.lanes, p.groups - group);
    if (used < plan.lanes) std::fill(to, to + terms * width, T{});
    for (int64_t v = 0; v < block.count; ++v) {
      PackRun(plan, source(tap, block.first + v, group), group_elements, to + v * plan.lanes, width,
              used, elements);
    }
    return;
  }
  // Columns of one residue and one group are neighbours in the filter.
  const int64_t first = block.first * plan.lanes;
  const int64_t used = std::min(width, columns.columns - first);
  while (filled < used) {
    const int64_t residue = (first + filled) / channels;
    const int64_t channel = (first + filled) % channels;
    const int64_t count = std::min(used - filled, channels - channel);
    PackRun(plan, source(tap + residue, channel, channel_group), plan.out_elements, to + filled,
            width, count, elements);
    filled += count;
  }
  if (used < width) {
    for (int64_t t = 0; t < terms; ++t) {
      std::fill(to + t * width + used, to + (t + 1) * width, T{});
    }
  }
}

// One block of columns of one (channel group, row phase, column group): what PackedOffset and the
// blocks before it precede.
template <typename S, typename T>
void PackBlock(const DirectPlan& plan, const S* filter, int64_t channel_group, const Phase& rows,
               const ColumnGroup& columns, Block block, T* to) {
  const int64_t width = block.count * plan.lanes;
  for (int64_t chunk = 0; chunk < plan.term_chunks; ++chunk) {
    const int64_t terms_total = plan.problem.group_out_channels();
    const int64_t k0 = PartBegin(terms_total, plan.term_chunks, chunk);
    const int64_t terms = PartBegin(terms_total, plan.term_chunks, chunk + 1) - k0;
    for (int64_t i = 0; i < rows.taps; ++i) {
      for (int64_t j = 0; j < columns.phase.taps; ++j) {
        PackTap(plan, filter, channel_group, rows.tap(i), columns, j, block, k0, terms, to);
        to += terms * width;
      }
    }
  }
}

}  // namespace dgrad::direct

#endif  // DGRAD_ALGORITHMS_DIRECT_PACK_BLOCK_H_
