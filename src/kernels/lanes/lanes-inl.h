// The kernel with groups as lanes, compiled once per target and type by lanes_<type>.cc.
#if defined(DGRAD_KERNELS_LANES_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DGRAD_KERNELS_LANES_LANES_INL_H_
#undef DGRAD_KERNELS_LANES_LANES_INL_H_
#else
#define DGRAD_KERNELS_LANES_LANES_INL_H_
#endif

#include <utility>

#include "hwy/highway.h"
#include "src/kernels/lanes/lanes.h"
#include "src/kernels/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dgrad::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// kScalars: one column value for all lanes.
template <class D, int kRows, int kVectors, bool kPartial, bool kScalars>
HWY_INLINE void LanesTileOf(const LanesCall<hn::TFromD<D>>& call) {
  using T = hn::TFromD<D>;
  using V = hn::Vec<D>;
  const D d;
  constexpr int64_t kLanes = hn::MaxLanes(D());
  constexpr int64_t kColumn = kScalars ? 1 : kLanes;  // elements of b per column
  const int64_t used = call.used_lanes;

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
      const T* HWY_RESTRICT b = call.b + step->b_row * kColumn * kVectors;
      int64_t offset = step->a_offset;
      for (int32_t term = 0; term < step->terms; ++term) {
        V columns[kVectors];
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          columns[v] = kScalars ? hn::Set(d, b[v]) : hn::LoadU(d, b + v * kLanes);
        }
#pragma GCC unroll 16
        for (int r = 0; r < kRows; ++r) {
          const V row =
              kPartial ? LoadPartial(d, rows[r] + offset, used) : hn::LoadU(d, rows[r] + offset);
#pragma GCC unroll 4
          for (int v = 0; v < kVectors; ++v) {
            sum[r][v] = MultiplyAdd(d, row, columns[v], sum[r][v]);
          }
        }
        offset += call.a_term;
        b += kColumn * kVectors;
      }
      flush = step->flush != 0;
      ++step;
    } while (!flush && step != end);

#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      T* const out = call.out + call.out_offsets[r];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        if (kPartial) {
          StorePartial(d, sum[r][v], out + v * call.out_vector, used, accumulate);
        } else {
          StoreFull(d, sum[r][v], out + v * call.out_vector, accumulate);
        }
      }
    }
    accumulate = true;
  }
}

template <class D, int kRows, int kVectors>
void LanesTile(const LanesCall<hn::TFromD<D>>& call) {
  if (call.used_lanes == static_cast<int64_t>(hn::MaxLanes(D()))) {
    LanesTileOf<D, kRows, kVectors, false, false>(call);
  } else {
    LanesTileOf<D, kRows, kVectors, true, false>(call);
  }
}

template <class D, int kRows, int kVectors>
void ScalarsTile(const LanesCall<hn::TFromD<D>>& call) {
  LanesTileOf<D, kRows, kVectors, false, true>(call);
}

template <class D, int kVectors, int... kIndex>
constexpr void FillLanesRow(LanesFamily<hn::TFromD<D>>& family,
                            std::integer_sequence<int, kIndex...>) {
  family.max_rows[kVectors] = MaxRows(kVectors);
  ((family.kernels[kVectors][kIndex + 1] = &LanesTile<D, kIndex + 1, kVectors>), ...);
  ((family.scalars[kVectors][kIndex + 1] = &ScalarsTile<D, kIndex + 1, kVectors>), ...);
}

template <typename T>
constexpr LanesFamily<T> MakeLanesFamily() {
  using D = hn::ScalableTag<T>;
  LanesFamily<T> family{};
  family.lanes = hn::MaxLanes(D());
  FillLanesRow<D, 1>(family, std::make_integer_sequence<int, MaxRows(1)>());
  FillLanesRow<D, 2>(family, std::make_integer_sequence<int, MaxRows(2)>());
  FillLanesRow<D, 3>(family, std::make_integer_sequence<int, MaxRows(3)>());
  return family;
}

}  // namespace dgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DGRAD_KERNELS_LANES_LANES_INL_H_
