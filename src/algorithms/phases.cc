#include "src/algorithms/phases.h"

#include <algorithm>
#include <numeric>

#include "src/base/integer.h"

namespace dgrad {

Status SplitAxis(const Axis& axis, std::vector<Phase>* phases) {
  constexpr int64_t kMaxPhases = int64_t{1} << 20;
  constexpr int64_t kMaxCandidates = int64_t{1} << 26;  // looked at in about 0.2 s
  phases->clear();
  if (axis.in == 0 || axis.out == 0) return {};
  const int64_t divisor = std::gcd(axis.stride, axis.dilation);
  const int64_t tap_step = axis.stride / divisor;
  const int64_t shift_step = axis.dilation / divisor;
  const int64_t candidates = std::min(axis.taps, tap_step);
  if (candidates > kMaxCandidates) {
    return OutOfMemory("the strides split the filter into more than 67108864 phases per axis");
  }
  for (int64_t k = 0; k < candidates; ++k) {
    const int64_t offset = k * axis.dilation - axis.pad_before;
    const int64_t shift = FloorDivide(offset, axis.stride);
    Phase phase;
    phase.residue = FloorModulo(offset, axis.stride);
    if (phase.residue >= axis.in) continue;
    phase.length = CeilDivide(axis.in - phase.residue, axis.stride);
    // Tap i meets index j when 0 <= j - shift(i) < out for some j of the phase.
    const int64_t count = CeilDivide(axis.taps - k, tap_step);
    const int64_t first = std::max<int64_t>(0, CeilDivide(1 - axis.out - shift, shift_step));
    const int64_t last = std::min(count - 1, FloorDivide(phase.length - 1 - shift, shift_step));
    if (first > last) continue;
    phase.taps = last - first + 1;
    phase.first_tap = k + first * tap_step;
    phase.tap_step = tap_step;
    phase.first_shift = shift + first * shift_step;
    phase.shift_step = shift_step;
    if (static_cast<int64_t>(phases->size()) == kMaxPhases) {
      return OutOfMemory("the strides split the filter into more than 1048576 phases per axis");
    }
    phases->push_back(phase);
  }
  std::sort(phases->begin(), phases->end(),
            [](const Phase& a, const Phase& b) { return a.residue < b.residue; });
  return {};
}

Segment SegmentAt(const Phase& phase, int64_t out, int64_t j, int64_t end) {
  // Active taps: j - out < shift(i) <= j.
  Segment segment;
  segment.begin = j;
  segment.end = end;
  segment.first_tap = std::clamp<int64_t>(
      CeilDivide(j - out + 1 - phase.first_shift, phase.shift_step), 0, phase.taps);
  segment.last_tap =
      std::clamp<int64_t>(FloorDivide(j - phase.first_shift, phase.shift_step) + 1, 0, phase.taps);
  // The next tap to enter and the next to leave.
  if (segment.last_tap < phase.taps) {
    segment.end = std::min(segment.end, phase.shift(segment.last_tap));
  }
  if (segment.first_tap < phase.taps && phase.shift(segment.first_tap) <= j) {
    segment.end = std::min(segment.end, phase.shift(segment.first_tap) + out);
  }
  return segment;
}

bool CoversAxis(const Axis& axis, const std::vector<Phase>& phases) {
  if (static_cast<int64_t>(phases.size()) != std::min(axis.stride, axis.in)) return false;
  for (const Phase& phase : phases) {
    // Tap i meets [shift(i), shift(i) + out): the runs must begin at 0, leave no gap and end at or
    // after the last index.
    const bool gaps = phase.taps > 1 && phase.shift_step > axis.out;
    if (phase.first_shift > 0 || gaps || phase.shift(phase.taps - 1) < phase.length - axis.out) {
      return false;
    }
  }
  return true;
}

IndexRange PhaseRange(const Phase& phase, int64_t stride, int64_t begin, int64_t end) {
  const auto index = [&](int64_t h) {
    return h <= phase.residue ? 0 : std::min(phase.length, CeilDivide(h - phase.residue, stride));
  };
  return {index(begin), index(end)};
}

IndexRange ReadRange(const Axis& axis, int64_t begin, int64_t end) {
  const int64_t reach = (axis.taps - 1) * axis.dilation;
  const int64_t first = CeilDivide(begin + axis.pad_before - reach, axis.stride);
  const int64_t last = FloorDivide(end - 1 + axis.pad_before, axis.stride);
  return {std::clamp<int64_t>(first, 0, axis.out), std::clamp<int64_t>(last + 1, 0, axis.out)};
}

int64_t MostRead(const Axis& axis, int64_t count) {
  const int64_t reach = (axis.taps - 1) * axis.dilation;
  return std::min(axis.out, FloorDivide(count - 1 + reach, axis.stride) + 1);
}

}  // namespace dgrad
