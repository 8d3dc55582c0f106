// The tile kernel, compiled once per target and type by gemm_<type>.cc.
#if defined(DGRAD_KERNELS_GEMM_GEMM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DGRAD_KERNELS_GEMM_GEMM_INL_H_
#undef DGRAD_KERNELS_GEMM_GEMM_INL_H_
#else
#define DGRAD_KERNELS_GEMM_GEMM_INL_H_
#endif

#include <utility>

#include "hwy/highway.h"
#include "src/kernels/gemm/gemm.h"
#include "src/kernels/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dgrad::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D, int kRows, int kVectors>
void GemmTile(const GemmCall<hn::TFromD<D>>& call) {
  using T = hn::TFromD<D>;
  using V = hn::Vec<D>;
  const D d;
  constexpr int64_t kLanes = hn::MaxLanes(D());
  constexpr int64_t kColumns = kLanes * kVectors;

  const T* rows[kRows];
  for (int r = 0; r < kRows; ++r) rows[r] = call.a + call.a_offsets[r];
  bool accumulate = call.accumulate;
  const GemmStep* step = call.steps;
  const GemmStep* const end = step + call.step_count;
  while (step != end) {
    // Every loop over the accumulators is unrolled, else GCC keeps them in memory.
    V sum[kRows][kVectors];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
    }
    bool flush = false;
    do {
      const T* HWY_RESTRICT b = call.b + step->b_row * kColumns;
      const int64_t first = step->a_offset;
      const int64_t last = first + step->terms;
      for (int64_t i = first; i < last; ++i) {
        V columns[kVectors];
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) columns[v] = hn::LoadU(d, b + v * kLanes);
#pragma GCC unroll 16
        for (int r = 0; r < kRows; ++r) {
          const V row = hn::Set(d, rows[r][i]);
#pragma GCC unroll 4
          for (int v = 0; v < kVectors; ++v) {
            sum[r][v] = MultiplyAdd(d, row, columns[v], sum[r][v]);
          }
        }
        b += kColumns;
      }
      flush = step->flush != 0;
      ++step;
    } while (!flush && step != end);

    const bool whole = call.columns == kColumns;
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      T* const out = call.out + call.out_offsets[r];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const int64_t count = call.columns - v * kLanes;
        if (whole || count >= kLanes) {
          if (call.stream) {
            hn::Stream(sum[r][v], d, out + v * kLanes);
          } else {
            StoreFull(d, sum[r][v], out + v * kLanes, accumulate);
          }
        } else if (count > 0) {
          StorePartial(d, sum[r][v], out + v * kLanes, count, accumulate);
        }
      }
    }
    accumulate = true;
  }
}

template <class D, int kVectors, int... kIndex>
constexpr void FillRow(GemmFamily<hn::TFromD<D>>& family, std::integer_sequence<int, kIndex...>) {
  family.max_rows[kVectors] = MaxRows(kVectors);
  ((family.kernels[kVectors][kIndex + 1] = &GemmTile<D, kIndex + 1, kVectors>), ...);
}

template <typename T>
constexpr GemmFamily<T> MakeGemmFamily() {
  using D = hn::ScalableTag<T>;
  GemmFamily<T> family{};
  family.lanes = hn::MaxLanes(D());
  FillRow<D, 1>(family, std::make_integer_sequence<int, MaxRows(1)>());
  FillRow<D, 2>(family, std::make_integer_sequence<int, MaxRows(2)>());
  FillRow<D, 3>(family, std::make_integer_sequence<int, MaxRows(3)>());
  return family;
}

}  // namespace dgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DGRAD_KERNELS_GEMM_GEMM_INL_H_
