// A loop for cli/peak.h: what the processor does with pairs of bfloat16. Apart from the public
// header, whose names are those of the inside.
#ifndef DGRAD_BENCH_MACHINE_PAIRS_H_
#define DGRAD_BENCH_MACHINE_PAIRS_H_

#include <cstdint>

namespace dgrad::bench {

// Whether the library multiplies pairs here, with AVX-512.
bool MultipliesPairs();

// One register tile, over and over, on data in the first cache; returns the multiply-adds of a
// round.
int64_t MultiplyPairs(int64_t rounds);

}  // namespace dgrad::bench

#endif  // DGRAD_BENCH_MACHINE_PAIRS_H_
