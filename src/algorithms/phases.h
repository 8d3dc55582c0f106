// One spatial axis split into phases: unit-stride sub-problems.
//
// Index h of in_backprop is residue + stride * j. Tap k meets out_backprop at index j - shift(k),
// so inside a phase all is unit stride. Taps of a phase form an arithmetic progression, and so do
// their shifts. Nothing here grows with the stride: phases without a tap are left out.
#ifndef DGRAD_ALGORITHMS_PHASES_H_
#define DGRAD_ALGORITHMS_PHASES_H_

#include <cstdint>
#include <vector>

#include "src/base/status.h"
#include "src/problem/problem.h"

namespace dgrad {

struct Phase {
  int64_t residue = 0;    // in [0, stride)
  int64_t length = 0;     // j in [0, length)
  int64_t taps = 0;       // > 0: only taps that meet out_backprop somewhere
  int64_t first_tap = 0;  // filter index of tap 0
  int64_t tap_step = 1;   // filter index between taps
  int64_t first_shift = 0;
  int64_t shift_step = 1;  // > 0

  int64_t tap(int64_t i) const { return first_tap + i * tap_step; }
  int64_t shift(int64_t i) const { return first_shift + i * shift_step; }
};

// Phases with at least one tap, by rising residue. OutOfMemory when there are more than 2^20, or
// more than 2^26 residues to look at.
Status SplitAxis(const Axis& axis, std::vector<Phase>* phases);

// A run of indices [begin, end) that meet the same taps [first_tap, last_tap), which may be none.
struct Segment {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t first_tap = 0;
  int64_t last_tap = 0;

  bool empty() const { return first_tap >= last_tap; }
};

// The segment that starts at j, cut at `end` (j < end <= phase.length). `out` is the axis' size of
// out_backprop.
Segment SegmentAt(const Phase& phase, int64_t out, int64_t j, int64_t end);

// True when every index of the axis meets a tap, so that no zero fill is needed.
bool CoversAxis(const Axis& axis, const std::vector<Phase>& phases);

// Indices of the phase that fall into [begin, end) of in_backprop.
struct IndexRange {
  int64_t begin = 0;
  int64_t end = 0;
};
IndexRange PhaseRange(const Phase& phase, int64_t stride, int64_t begin, int64_t end);

// Indices of out_backprop that [begin, end) of in_backprop reads; end <= begin when none.
IndexRange ReadRange(const Axis& axis, int64_t begin, int64_t end);

// The most indices of out_backprop that any `count` consecutive ones of in_backprop read; count >
// 0.
int64_t MostRead(const Axis& axis, int64_t count);

}  // namespace dgrad

#endif  // DGRAD_ALGORITHMS_PHASES_H_
