// The rate of multiply-adds that the machine reaches at this moment with nothing else to do.
#ifndef DGRAD_CLI_PEAK_H_
#define DGRAD_CLI_PEAK_H_

#include <cstdint>
#include <dgrad/dgrad.hpp>

namespace dgrad::cli {

// GFLOP/s of `threads` threads with vectors of the instruction set; a multiply-add is two. Half
// types are summed as float32. Takes some 20 ms.
double MeasurePeak(Isa isa, Dtype dtype, int32_t threads);

// The same for any loop: loop(rounds) returns how many multiply-adds a round has.
double MeasureRate(int64_t (*loop)(int64_t rounds), int32_t threads);

// One loop of multiply-adds on values in registers, compiled once per instruction set
// (peak_kernel.cc): returns how many multiply-adds a round has.
struct PeakLoops {
  int64_t (*f32)(int64_t rounds);
  int64_t (*f64)(int64_t rounds);
  int64_t (*i32)(int64_t rounds);
};
extern const PeakLoops kPeakBase;  // what every processor of the family has: SSE2, or NEON
#if defined(DGRAD_CLI_X86)
extern const PeakLoops kPeakAvx2;
extern const PeakLoops kPeakAvx512;
#endif

}  // namespace dgrad::cli

#endif  // DGRAD_CLI_PEAK_H_
