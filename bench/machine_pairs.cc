#include "machine_pairs.h"

#include "src/base/isa.h"
#include "src/kernels/dot/dot.h"

namespace dgrad::bench {

bool MultipliesPairs() { return HasFastBf16Dot() && kernels::Dot<float>() != nullptr; }

int64_t MultiplyPairs(int64_t rounds) {
  constexpr int kRows = 14, kVectors = 2;
  constexpr int64_t kTerms = 64;
  const auto& family = *kernels::Dot<float>();
  alignas(64) static const kernels::BFloat16Pair a[kRows * kTerms] = {};
  alignas(64) static const kernels::BFloat16Pair b[kTerms * kVectors * 16] = {};
  alignas(64) float out[kRows * kVectors * 16];
  int64_t a_offsets[kRows], out_offsets[kRows];
  for (int64_t r = 0; r < kRows; ++r) {
    a_offsets[r] = r * kTerms;
    out_offsets[r] = r * kVectors * 16;
  }
  const kernels::GemmStep step = {0, 0, kTerms, 1};
  kernels::GemmCall<float, kernels::BFloat16Pair> call{};
  call.a = a;
  call.a_offsets = a_offsets;
  call.b = b;
  call.out = out;
  call.out_offsets = out_offsets;
  call.steps = &step;
  call.step_count = 1;
  call.columns = kVectors * 16;
  for (int64_t i = 0; i < rounds; ++i) {
    family.kernels[kVectors][kRows](call);
    __asm__ volatile("" : : "r"(out) : "memory");
  }
  return int64_t{kRows} * kVectors * 16 * kTerms * 2;
}

}  // namespace dgrad::bench
