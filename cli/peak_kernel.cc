// Compiled once per instruction set, with DGRAD_PEAK_NAME and DGRAD_PEAK_BYTES (of a vector). Uses
// no function of a library: a copy compiled for a better processor must not be taken for the
// others.
#include <cstdint>

#include "peak.h"

namespace dgrad::cli {
namespace {

// Enough independent sums for a latency of 5 cycles at 2 a cycle, few enough for 16 registers.
constexpr int kSums = 12;

template <typename T>
int64_t Loop(int64_t rounds) {
  typedef T Vector __attribute__((vector_size(DGRAD_PEAK_BYTES)));
  Vector sums[kSums];
  for (int i = 0; i < kSums; ++i) sums[i] = Vector{} + static_cast<T>(i);
  Vector factor = Vector{} + static_cast<T>(1);
  Vector term = Vector{} + static_cast<T>(1);
  // The compiler must not know the values.
  __asm__ volatile("" : "+m"(factor), "+m"(term));
  const Vector a = factor;
  const Vector b = term;
  for (int64_t round = 0; round < rounds; ++round) {
    for (int i = 0; i < kSums; ++i) sums[i] = sums[i] * a + b;
  }
  for (int i = 0; i < kSums; ++i) __asm__ volatile("" : : "m"(sums[i]));
  return int64_t{kSums} * DGRAD_PEAK_BYTES / static_cast<int64_t>(sizeof(T));
}

}  // namespace

// Unsigned, so that overflow is defined.
extern const PeakLoops DGRAD_PEAK_NAME = {&Loop<float>, &Loop<double>, &Loop<uint32_t>};

}  // namespace dgrad::cli
