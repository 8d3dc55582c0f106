// The instruction sets the kernels are compiled for.
#ifndef DGRAD_KERNELS_ISAS_H_
#define DGRAD_KERNELS_ISAS_H_

#include <vector>

#include "src/base/isa.h"

namespace dgrad {

// Best first; the baseline (named kScalar, kNeon, ...) comes last.
std::vector<Isa> CompiledIsas();

}  // namespace dgrad

#endif  // DGRAD_KERNELS_ISAS_H_
