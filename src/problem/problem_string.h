// The problem string: one parser and one printer. Grammar in docs/semantics.md.
#ifndef DGRAD_PROBLEM_PROBLEM_STRING_H_
#define DGRAD_PROBLEM_PROBLEM_STRING_H_

#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/problem/problem.h"

namespace dgrad {

// n8_h56w56c64_k3x3_oc128_s2x2_p1,1,1,1_d1x1_g1_nhwc_f32: fixed order; n, s, p, d, g, layout and
// type may be left out (1, 1x1, 0,0,0,0, 1x1, 1, nhwc, f32). p is top,bottom,left,right, or psame
// or pvalid. c and oc count all groups. The size of out_backprop follows from the rest.
Status ParseProblem(std::string_view text, Problem* problem);

// The same words, defaults left out, padding always as numbers (psame only where numbers can't say
// it: SAME with a filter without taps); ParseProblem of it gives the same Problem.
std::string ToString(const Problem& problem);

}  // namespace dgrad

#endif  // DGRAD_PROBLEM_PROBLEM_STRING_H_
