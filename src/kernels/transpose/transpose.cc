#include "src/kernels/transpose/transpose.h"

#include <algorithm>

#include "src/base/prefetch.h"
#include "src/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/transpose/transpose.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dgrad::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
void TransposeByElement(const T* from, int64_t from_pitch, T* to, int64_t to_pitch, int64_t rows,
                        int64_t columns) {
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t r = 0; r < rows; ++r) to[c * to_pitch + r] = from[r * from_pitch + c];
  }
}

// Blocks of 4 x 4 in 128-bit vectors; 16 rows at a time, so that whole cache lines are written.
template <typename T>
void Transpose32(const T* from, int64_t from_pitch, T* to, int64_t to_pitch, int64_t rows,
                 int64_t columns) {
#if HWY_TARGET == HWY_SCALAR
  TransposeByElement(from, from_pitch, to, to_pitch, rows, columns);
#else
  const hn::FixedTag<T, 4> d;
  const hn::RepartitionToWide<decltype(d)> wide;
  const int64_t whole_rows = rows & ~int64_t{3};
  const int64_t whole_columns = columns & ~int64_t{3};
  for (int64_t r0 = 0; r0 < whole_rows; r0 += 16) {
    const int64_t r1 = std::min(whole_rows, r0 + 16);
    for (int64_t c = 0; c < whole_columns; c += 4) {
      // The lines that the next 16 rows come from and go to.
      for (int64_t i = 0; i < 4; ++i) {
        PrefetchForRead(from + (r1 + (c & 12) + i) * from_pitch + (c & ~int64_t{15}), 64);
        PrefetchForWrite(to + (c + i) * to_pitch + r1, 64);
      }
      for (int64_t r = r0; r < r1; r += 4) {
        const T* const line = from + r * from_pitch;
        const auto a = hn::LoadU(d, line + c);
        const auto b = hn::LoadU(d, line + from_pitch + c);
        const auto e = hn::LoadU(d, line + 2 * from_pitch + c);
        const auto f = hn::LoadU(d, line + 3 * from_pitch + c);
        const auto ab_low = hn::BitCast(wide, hn::InterleaveLower(d, a, b));
        const auto ab_high = hn::BitCast(wide, hn::InterleaveUpper(d, a, b));
        const auto ef_low = hn::BitCast(wide, hn::InterleaveLower(d, e, f));
        const auto ef_high = hn::BitCast(wide, hn::InterleaveUpper(d, e, f));
        T* const block = to + c * to_pitch + r;
        hn::StoreU(hn::BitCast(d, hn::InterleaveLower(wide, ab_low, ef_low)), d, block);
        hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(wide, ab_low, ef_low)), d, block + to_pitch);
        hn::StoreU(hn::BitCast(d, hn::InterleaveLower(wide, ab_high, ef_high)), d,
                   block + 2 * to_pitch);
        hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(wide, ab_high, ef_high)), d,
                   block + 3 * to_pitch);
      }
    }
  }
  TransposeByElement(from + whole_columns, from_pitch, to + whole_columns * to_pitch, to_pitch,
                     whole_rows, columns - whole_columns);
  TransposeByElement(from + whole_rows * from_pitch, from_pitch, to + whole_rows, to_pitch,
                     rows - whole_rows, columns);
#endif
}

// Blocks of 2 x 2 in 128-bit vectors; 8 rows at a time, so that whole cache lines are written.
void Transpose64(const double* from, int64_t from_pitch, double* to, int64_t to_pitch, int64_t rows,
                 int64_t columns) {
#if HWY_TARGET == HWY_SCALAR
  TransposeByElement(from, from_pitch, to, to_pitch, rows, columns);
#else
  const hn::FixedTag<double, 2> d;
  const int64_t whole_rows = rows & ~int64_t{1};
  const int64_t whole_columns = columns & ~int64_t{1};
  for (int64_t r0 = 0; r0 < whole_rows; r0 += 8) {
    const int64_t r1 = std::min(whole_rows, r0 + 8);
    for (int64_t c = 0; c < whole_columns; c += 2) {
      for (int64_t r = r0; r < r1; r += 2) {
        const double* const line = from + r * from_pitch;
        const auto a = hn::LoadU(d, line + c);
        const auto b = hn::LoadU(d, line + from_pitch + c);
        hn::StoreU(hn::InterleaveLower(d, a, b), d, to + c * to_pitch + r);
        hn::StoreU(hn::InterleaveUpper(d, a, b), d, to + (c + 1) * to_pitch + r);
      }
    }
  }
  TransposeByElement(from + whole_columns, from_pitch, to + whole_columns * to_pitch, to_pitch,
                     whole_rows, columns - whole_columns);
  TransposeByElement(from + whole_rows * from_pitch, from_pitch, to + whole_rows, to_pitch,
                     rows - whole_rows, columns);
#endif
}

TransposeKernel<float> TransposeF32() { return &Transpose32<float>; }
TransposeKernel<int32_t> TransposeI32() { return &Transpose32<int32_t>; }
TransposeKernel<double> TransposeF64() { return &Transpose64; }

}  // namespace dgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dgrad::kernels {

template <>
TransposeKernel<float> Transpose<float>(Isa isa) {
  return DGRAD_SELECT(isa, TransposeF32);
}
template <>
TransposeKernel<int32_t> Transpose<int32_t>(Isa isa) {
  return DGRAD_SELECT(isa, TransposeI32);
}
template <>
TransposeKernel<double> Transpose<double>(Isa isa) {
  return DGRAD_SELECT(isa, TransposeF64);
}

}  // namespace dgrad::kernels
#endif  // HWY_ONCE
