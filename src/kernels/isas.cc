#include "src/kernels/isas.h"

#include "src/kernels/targets.h"

namespace dgrad {

std::vector<Isa> CompiledIsas() {
  std::vector<Isa> isas;
  if (HWY_TARGETS & HWY_AVX3) isas.push_back(Isa::kAvx512);
  if (HWY_TARGETS & HWY_AVX2) isas.push_back(Isa::kAvx2);
  if (HWY_TARGETS & HWY_NEON) isas.push_back(Isa::kNeon);
  if (HWY_TARGETS & HWY_SSE4) isas.push_back(Isa::kSse4);
  if (HWY_TARGETS & (HWY_SCALAR | HWY_EMU128)) isas.push_back(Isa::kScalar);
  return isas;
}

}  // namespace dgrad
