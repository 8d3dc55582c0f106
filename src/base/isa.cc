#include "src/base/isa.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "src/base/lazy.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#define DGRAD_X86 1
#endif

namespace dgrad {
namespace {

constexpr Isa kAll[] = {Isa::kAuto, Isa::kScalar, Isa::kSse4, Isa::kNeon, Isa::kAvx2, Isa::kAvx512};

// The caps that mean something on this architecture, in rising order.
#if defined(DGRAD_X86)
constexpr Isa kLegal[] = {Isa::kAuto, Isa::kScalar, Isa::kSse4, Isa::kAvx2, Isa::kAvx512};
#elif defined(__aarch64__)
constexpr Isa kLegal[] = {Isa::kAuto, Isa::kScalar, Isa::kNeon};
#else
constexpr Isa kLegal[] = {Isa::kAuto, Isa::kScalar};
#endif

template <typename List>
std::string Words(const List& isas) {
  std::string words;
  for (Isa isa : isas) {
    if (!words.empty()) words += ", ";
    words += Name(isa);
  }
  return words;
}

#if defined(DGRAD_X86)
// True when every bit of mask is set.
constexpr bool Has(unsigned value, unsigned mask) { return (value & mask) == mask; }

// XCR0: the register states the operating system saves. Only legal after OSXSAVE was seen; in
// assembly because the intrinsic wants -mxsave.
unsigned ReadXcr0() {
  unsigned low = 0;
  unsigned high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

std::vector<Isa> Detect() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx1 = 0;
  unsigned edx = 0;
  unsigned ebx7 = 0;
  unsigned ecx_extended = 0;
  unsigned ecx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx1, &edx) == 0) return {Isa::kScalar};
  if (__get_cpuid_count(7, 0, &eax, &ebx7, &ecx, &edx) == 0) ebx7 = 0;
  if (__get_cpuid(0x80000001, &eax, &ebx, &ecx_extended, &edx) == 0) ecx_extended = 0;

  const unsigned xcr0 = Has(ecx1, bit_OSXSAVE) ? ReadXcr0() : 0;
  constexpr unsigned kYmmState = 0x06;  // XMM and the upper halves of YMM
  constexpr unsigned kZmmState = 0xe6;  // and mask registers, upper halves of ZMM, ZMM16 to ZMM31
  constexpr unsigned kLzcnt = 1u << 5;

  const bool sse4 = Has(ecx1, bit_SSSE3 | bit_SSE4_1 | bit_SSE4_2);
  const bool avx2 = sse4 && Has(xcr0, kYmmState) && Has(ecx1, bit_AVX | bit_FMA | bit_F16C) &&
                    Has(ebx7, bit_AVX2 | bit_BMI | bit_BMI2) && Has(ecx_extended, kLzcnt);
  const bool avx512 =
      avx2 && Has(xcr0, kZmmState) &&
      Has(ebx7, bit_AVX512F | bit_AVX512BW | bit_AVX512CD | bit_AVX512DQ | bit_AVX512VL);

  std::vector<Isa> found;
  if (avx512) found.push_back(Isa::kAvx512);
  if (avx2) found.push_back(Isa::kAvx2);
  if (sse4) found.push_back(Isa::kSse4);
  found.push_back(Isa::kScalar);
  return found;
}

bool DetectFastBf16Dot() {
  constexpr unsigned kAvx512Bf16 = 1u << 5;
  constexpr unsigned kZen3And4 = 0x19;  // of which only Zen 4 has the instruction
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (DetectedIsas().front() != Isa::kAvx512) return false;
  if (__get_cpuid(0, &eax, &ebx, &ecx, &edx) == 0) return false;
  if (ebx != signature_AMD_ebx || ecx != signature_AMD_ecx || edx != signature_AMD_edx) {
    return false;
  }
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return false;
  const unsigned family = (eax >> 8 & 0xf) + (eax >> 20 & 0xff);
  if (__get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) == 0) return false;
  return family >= kZen3And4 && Has(eax, kAvx512Bf16);
}
#elif defined(__aarch64__)
std::vector<Isa> Detect() { return {Isa::kNeon, Isa::kScalar}; }  // NEON is part of the base
#else
std::vector<Isa> Detect() { return {Isa::kScalar}; }
#endif

#if !defined(DGRAD_X86)
bool DetectFastBf16Dot() { return false; }
#endif

}  // namespace

const char* Name(Isa isa) {
  switch (isa) {
    case Isa::kAuto:
      return "auto";
    case Isa::kScalar:
      return "scalar";
    case Isa::kSse4:
      return "sse4";
    case Isa::kNeon:
      return "neon";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
  }
  return "?";
}

Status ParseIsa(std::string_view word, Isa* isa) {
  for (Isa candidate : kAll) {
    if (word == Name(candidate)) {
      *isa = candidate;
      return {};
    }
  }
  return InvalidArgument("isa is \"" + std::string(word) + "\"; legal are " + Words(kAll));
}

const std::vector<Isa>& DetectedIsas() { return Lazy<Detect>(); }

bool HasFastBf16Dot() { return Lazy<DetectFastBf16Dot>(); }

Status ResolveIsa(Isa cap, Isa* isa) {
  std::string source = "isa";
  if (cap == Isa::kAuto) {
    const char* word = std::getenv("DGRAD_ISA");
    if (word != nullptr && *word != '\0') {
      source = "the environment variable DGRAD_ISA";
      if (!ParseIsa(word, &cap).ok()) {
        return InvalidArgument(source + " is \"" + word + "\"; legal on this architecture are " +
                               Words(kLegal) + ", or empty");
      }
    }
  }
  if (std::find(std::begin(kLegal), std::end(kLegal), cap) == std::end(kLegal)) {
    const std::string given = std::find(std::begin(kAll), std::end(kAll), cap) == std::end(kAll)
                                  ? std::to_string(static_cast<int32_t>(cap))
                                  : "\"" + std::string(Name(cap)) + "\"";
    return InvalidArgument(source + " is " + given + "; legal on this architecture are " +
                           Words(kLegal));
  }
  for (Isa candidate : DetectedIsas()) {
    if (cap == Isa::kAuto || candidate <= cap) {
      *isa = candidate;
      return {};
    }
  }
  *isa = Isa::kScalar;
  return {};
}

}  // namespace dgrad
