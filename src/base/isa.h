// Instruction sets: what the machine has, and the cap a caller or DGRAD_ISA sets.
#ifndef DGRAD_BASE_ISA_H_
#define DGRAD_BASE_ISA_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace dgrad {

// Ordered: a cap admits everything up to it that the machine has. Values equal the C interface's.
enum class Isa : int32_t { kAuto = 0, kScalar = 1, kSse4 = 2, kNeon = 3, kAvx2 = 4, kAvx512 = 5 };

const char* Name(Isa isa);  // "auto", "scalar", "sse4", "neon", "avx2", "avx512"

// The inverse of Name. Any other text is an InvalidArgument that lists the six words.
Status ParseIsa(std::string_view word, Isa* isa);

// What this CPU and operating system run, best first, kScalar last. Detected once, by cpuid and
// xgetbv on x86 (avx512: F, BW, CD, DQ, VL, and AVX2's set; avx2: AVX2, FMA, F16C, BMI1, BMI2,
// LZCNT; sse4: SSE4.2 - what the Highway targets of these names are compiled with).
const std::vector<Isa>& DetectedIsas();

// Whether bfloat16 dot products (AVX512_BF16) run at the rate of float32 multiply-adds, so that
// they take half the instructions' time: AMD from Zen 4 on. On Intel they run at half that rate.
bool HasFastBf16Dot();

// The instruction set to use under a cap: the best one up to it. kAuto reads DGRAD_ISA on each call
// (empty = unset; an unknown word is an error that lists the legal ones); any other cap wins over
// the environment. A cap of another architecture is an InvalidArgument. Never returns kAuto.
Status ResolveIsa(Isa cap, Isa* isa);

}  // namespace dgrad

#endif  // DGRAD_BASE_ISA_H_
