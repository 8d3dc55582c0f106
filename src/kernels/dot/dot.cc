#include "src/kernels/dot/dot.h"

#include <hwy/base.h>

#include <utility>

#if (HWY_COMPILER_GCC_ACTUAL >= 1000 || HWY_COMPILER_CLANG >= 900) && HWY_ARCH_X86
#include <immintrin.h>
#define DGRAD_HAS_DOT 1
#endif

namespace dgrad::kernels {

#ifdef DGRAD_HAS_DOT
namespace {

constexpr int kLanes = 16;
// As those of gemm/ for AVX-512: accumulators, vectors of b and one of a fill 32 registers.
constexpr int MaxRows(int vectors) { return vectors == 3 ? 9 : 14; }

// What is between the two must not call what other sources may have compiled for less.
HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,bmi2")

inline __m512bh Broadcast(const BFloat16Pair* pair) {
  int bits;
  __builtin_memcpy(&bits, pair, sizeof(bits));
  return (__m512bh)_mm512_set1_epi32(bits);
}

// The first lanes of the mask alone are read or written.
inline void Store(__m512 sum, float* out, __mmask16 mask, bool accumulate) {
  if (accumulate) sum = _mm512_add_ps(_mm512_maskz_loadu_ps(mask, out), sum);
  _mm512_mask_storeu_ps(out, mask, sum);
}
inline void Store(__m512 sum, BFloat16* out, __mmask16 mask, bool) {
  _mm256_mask_storeu_epi16(out, mask, (__m256i)_mm512_cvtneps_pbh(sum));
}
// All lanes.
inline void Store(__m512 sum, float* out, bool accumulate) {
  if (accumulate) sum = _mm512_add_ps(_mm512_loadu_ps(out), sum);
  _mm512_storeu_ps(out, sum);
}
inline void Store(__m512 sum, BFloat16* out, bool) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), (__m256i)_mm512_cvtneps_pbh(sum));
}

// A line of cache past the caches.
inline void Stream(__m512 low, __m512 high, BFloat16* out) {
  _mm512_stream_si512(reinterpret_cast<__m512i*>(out), (__m512i)_mm512_cvtne2ps_pbh(high, low));
}

// Adds up partial sums in scratch, until the last, after which the whole is stored.
template <int kRows, int kVectors>
inline void AddUp(__m512 (&sum)[kRows][kVectors], float* scratch, bool first, bool last) {
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      float* const at = scratch + (r * kVectors + v) * kLanes;
      if (!first) sum[r][v] = _mm512_add_ps(_mm512_load_ps(at), sum[r][v]);
      if (!last) _mm512_store_ps(at, sum[r][v]);
    }
  }
}

template <typename Out, int kRows, int kVectors>
void Tile(const GemmCall<Out, BFloat16Pair>& call) {
  constexpr int64_t kColumns = kLanes * kVectors;

  const BFloat16Pair* rows[kRows];
  for (int r = 0; r < kRows; ++r) rows[r] = call.a + call.a_offsets[r];
  constexpr bool kStages = sizeof(Out) != sizeof(float);
  alignas(64) float memory[kStages ? kRows * kVectors * kLanes : 1];
  float* scratch = memory;
  // GCC takes what the first partial sum leaves there for uninitialized.
  if constexpr (kStages) asm("" : "+r"(scratch) : : "memory");
  bool accumulate = call.accumulate;
  const GemmStep* step = call.steps;
  const GemmStep* const end = step + call.step_count;
  while (step != end) {
    // Every loop over the accumulators is unrolled, else GCC keeps them in memory.
    __m512 sum[kRows][kVectors];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[r][v] = _mm512_setzero_ps();
    }
    bool flush = false;
    do {
      const BFloat16Pair* b = call.b + step->b_row * kColumns;
      const int64_t first = step->a_offset;
      const int64_t last = first + step->terms;
      for (int64_t i = first; i < last; ++i) {
        __m512bh columns[kVectors];
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          columns[v] = (__m512bh)_mm512_loadu_si512(b + v * kLanes);
        }
#pragma GCC unroll 16
        for (int r = 0; r < kRows; ++r) {
          const __m512bh row = Broadcast(rows[r] + i);
#pragma GCC unroll 4
          for (int v = 0; v < kVectors; ++v) {
            sum[r][v] = _mm512_dpbf16_ps(sum[r][v], row, columns[v]);
          }
        }
        b += kColumns;
      }
      flush = step->flush != 0;
      ++step;
    } while (!flush && step != end);

    if constexpr (kStages) {
      AddUp<kRows, kVectors>(sum, scratch, !accumulate, step == end);
      accumulate = true;
      if (step != end) continue;
    }
    const bool whole = call.columns == kColumns;
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      Out* const out = call.out + call.out_offsets[r];
      if constexpr (kStages && kVectors == 2) {
        if (call.stream && whole) {
          Stream(sum[r][0], sum[r][1], out);
          continue;
        }
      }
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const int64_t count = call.columns - v * kLanes;
        if (whole || count >= kLanes) {
          Store(sum[r][v], out + v * kLanes, accumulate);
        } else if (count > 0) {
          Store(sum[r][v], out + v * kLanes, static_cast<__mmask16>((1u << count) - 1), accumulate);
        }
      }
    }
    accumulate = true;
  }
}

HWY_POP_ATTRIBUTES

template <typename Out, int kVectors, int... kIndex>
constexpr void FillRow(GemmFamily<Out, BFloat16Pair>& family,
                       std::integer_sequence<int, kIndex...>) {
  family.max_rows[kVectors] = MaxRows(kVectors);
  ((family.kernels[kVectors][kIndex + 1] = &Tile<Out, kIndex + 1, kVectors>), ...);
}

template <typename Out>
constexpr GemmFamily<Out, BFloat16Pair> MakeFamily() {
  GemmFamily<Out, BFloat16Pair> family{};
  family.lanes = kLanes;
  FillRow<Out, 1>(family, std::make_integer_sequence<int, MaxRows(1)>());
  FillRow<Out, 2>(family, std::make_integer_sequence<int, MaxRows(2)>());
  FillRow<Out, 3>(family, std::make_integer_sequence<int, MaxRows(3)>());
  return family;
}

}  // namespace

template <typename Out>
const GemmFamily<Out, BFloat16Pair>* Dot() {
  static constexpr GemmFamily<Out, BFloat16Pair> kFamily = MakeFamily<Out>();
  return &kFamily;
}
#else
template <typename Out>
const GemmFamily<Out, BFloat16Pair>* Dot() {
  return nullptr;
}
#endif

template const GemmFamily<float, BFloat16Pair>* Dot<float>();
template const GemmFamily<BFloat16, BFloat16Pair>* Dot<BFloat16>();

}  // namespace dgrad::kernels
