// The register-tile product of gemm/ for pairs of bfloat16 terms, which AVX512_BF16 multiplies and
// adds up in float32 by one instruction: twice the terms per instruction, and nothing to widen.
//
// A "term" of a GemmCall is a pair here: row r reads a[a_offsets[r] + a_offset + i], and b has
// [pair][column][2]. The instruction takes subnormals for zero, whatever the thread's flush bits,
// and rounds to nearest; how it rounds between the two products of a pair differs between
// processors. Zeros, infinities and NaN are as in multiplications and additions one by one.
#ifndef DGRAD_KERNELS_DOT_DOT_H_
#define DGRAD_KERNELS_DOT_DOT_H_

#include "src/base/dtype.h"
#include "src/kernels/gemm/gemm.h"

namespace dgrad::kernels {

// Aligned as its halves: pairs of neighbours in a tensor.
struct BFloat16Pair {
  BFloat16 first, second;
};

// Null where the compiler has no such instruction. Only to be called on a processor that has it.
// Out is float, or BFloat16: then accumulate must be false, the tile holds the sum of partial sums
// itself, in float32, and rounds it once, as it is stored after the last step.
template <typename Out>
const GemmFamily<Out, BFloat16Pair>* Dot();

}  // namespace dgrad::kernels

#endif  // DGRAD_KERNELS_DOT_DOT_H_
