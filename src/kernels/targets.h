// Which Highway targets are compiled, and how a kernel of one of them is picked. Included by kernel
// sources before hwy/foreach_target.h. The library has a table of its own instead of Highway's
// dispatcher, so that a plan can carry its instruction set and nothing links to libhwy.
#ifndef DGRAD_KERNELS_TARGETS_H_
#define DGRAD_KERNELS_TARGETS_H_

// SVE vectors have no size at compile time, so that they can't stand in accumulator arrays; SSSE3
// would only add code beside SSE4.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)

// No kernel uses these instructions, and the first processors with SSE4.2 (Nehalem) lack them.
#define HWY_DISABLE_PCLMUL_AES

#include <hwy/detect_targets.h>

#if HWY_TARGETS & HWY_AVX3
#define DGRAD_CASE_AVX512(isa, function) (isa) == ::dgrad::Isa::kAvx512 ? N_AVX3::function():
#else
#define DGRAD_CASE_AVX512(isa, function)
#endif
#if HWY_TARGETS & HWY_AVX2
#define DGRAD_CASE_AVX2(isa, function) (isa) == ::dgrad::Isa::kAvx2 ? N_AVX2::function():
#else
#define DGRAD_CASE_AVX2(isa, function)
#endif
#if HWY_TARGETS & HWY_SSE4
#define DGRAD_CASE_SSE4(isa, function) (isa) == ::dgrad::Isa::kSse4 ? N_SSE4::function():
#else
#define DGRAD_CASE_SSE4(isa, function)
#endif
#if HWY_TARGETS & HWY_NEON
#define DGRAD_CASE_NEON(isa, function) (isa) == ::dgrad::Isa::kNeon ? N_NEON::function():
#else
#define DGRAD_CASE_NEON(isa, function)
#endif

// The value of `function()` in the namespace of the instruction set; of the baseline target where
// that one is not compiled.
#define DGRAD_SELECT(isa, function)                                                               \
  (DGRAD_CASE_AVX512(isa, function) DGRAD_CASE_AVX2(isa, function) DGRAD_CASE_SSE4(isa, function) \
       DGRAD_CASE_NEON(isa, function) DGRAD_BASELINE::function())

// The baseline's namespace.
#if HWY_STATIC_TARGET == HWY_SCALAR
#define DGRAD_BASELINE N_SCALAR
#elif HWY_STATIC_TARGET == HWY_EMU128
#define DGRAD_BASELINE N_EMU128
#elif HWY_STATIC_TARGET == HWY_NEON
#define DGRAD_BASELINE N_NEON
#elif HWY_STATIC_TARGET == HWY_SSE4
#define DGRAD_BASELINE N_SSE4
#elif HWY_STATIC_TARGET == HWY_AVX2
#define DGRAD_BASELINE N_AVX2
#elif HWY_STATIC_TARGET == HWY_AVX3
#define DGRAD_BASELINE N_AVX3
#else
#error "Unknown baseline target"
#endif

#endif  // DGRAD_KERNELS_TARGETS_H_
