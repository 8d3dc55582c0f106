// The definition as plain loops: the oracle of tests and of `dgrad check`, never a user's path.
#ifndef DGRAD_REFERENCE_REFERENCE_H_
#define DGRAD_REFERENCE_REFERENCE_H_

#include "src/problem/problem.h"

namespace dgrad {

// Sums in double and rounds once to the type (nearest even); int32 modulo 2^32. Dense buffers in
// the problem's layout; every element of in_backprop is written. Work is bounded by the taps that
// land.
void Reference(const Problem& problem, const void* filter, const void* out_backprop,
               void* in_backprop);

// S of the error bounds: the same sum over |filter| * |out_backprop| in double, one value per
// element of in_backprop. Not for int32.
void ReferenceScale(const Problem& problem, const void* filter, const void* out_backprop,
                    double* scale);

}  // namespace dgrad

#endif  // DGRAD_REFERENCE_REFERENCE_H_
