// The terms of one segment's sum as a list of kernel steps, made pass by pass.
#ifndef DGRAD_ALGORITHMS_STEPS_H_
#define DGRAD_ALGORITHMS_STEPS_H_

#include <cstdint>

#include "src/kernels/gemm/gemm.h"
#include "src/threads/partition.h"

namespace dgrad {

// Steps of one pass at most, and terms of one partial sum (src/kernels/gemm/gemm.h).
inline constexpr int64_t kMaxSteps = 1024;
inline constexpr int64_t kMaxTerms = 256;

// Taps of a segment out of the taps of its phase, and how far apart all lies in memory. The packed
// filter has its rows as [chunk of terms][row tap][column tap][term].
struct StepGeometry {
  int64_t terms = 0;   // out channels of a group, cut into `chunks` nearly equal chunks
  int64_t chunks = 1;  // of at most `partial_terms`
  int64_t partial_terms = kMaxTerms;  // of one partial sum; fewer where each stands for several
  int64_t a_term = 1;                 // elements from one term to the next
  int64_t a_row_tap = 0, a_column_tap = 0;  // elements from one tap to the next
  int64_t phase_row_taps = 0, phase_column_taps = 0;
  int64_t first_row_tap = 0, first_column_tap = 0;  // of the segment
  int64_t row_taps = 0, column_taps = 0;            // of the segment, > 0
};

// Walks over chunks of terms (outermost), row taps and column taps: the order of summation, which
// depends on the segment alone.
class StepWriter {
 public:
  explicit StepWriter(const StepGeometry& geometry) : g_(geometry) { BeginChunk(); }

  bool done() const { return chunk_ == g_.chunks; }

  // Writes the next at most kMaxSteps steps, ending with a flush, and stops early once they use
  // `row_limit` rows of the packed filter. Returns how many; *b_rows receives the rows used.
  int64_t Write(int64_t row_limit, kernels::GemmStep* steps, int64_t* b_rows) {
    const int64_t taps = g_.phase_row_taps * g_.phase_column_taps;
    int64_t count = 0;
    int64_t partial = 0;  // terms since the last flush
    *b_rows = 0;
    while (!done()) {
      const int64_t length = length_;
      if (partial + length > g_.partial_terms) {
        steps[count - 1].flush = 1;
        partial = 0;
        // A partial sum may need as many steps as it may have terms.
        if (count > kMaxSteps - kMaxTerms || *b_rows >= row_limit) return count;
      }
      kernels::GemmStep& step = steps[count++];
      step.a_offset = k0_ * g_.a_term + row_tap_ * g_.a_row_tap + column_tap_ * g_.a_column_tap;
      step.b_row = k0_ * taps + ((g_.first_row_tap + row_tap_) * g_.phase_column_taps +
                                 g_.first_column_tap + column_tap_) *
                                    length;
      step.terms = static_cast<int32_t>(length);
      step.flush = 0;
      partial += length;
      *b_rows += length;
      Advance();
    }
    steps[count - 1].flush = 1;
    return count;
  }

 private:
  void Advance() {
    if (++column_tap_ < g_.column_taps) return;
    column_tap_ = 0;
    if (++row_tap_ < g_.row_taps) return;
    row_tap_ = 0;
    ++chunk_;
    BeginChunk();
  }

  void BeginChunk() {
    if (done()) return;
    k0_ = PartBegin(g_.terms, g_.chunks, chunk_);
    length_ = PartBegin(g_.terms, g_.chunks, chunk_ + 1) - k0_;
  }

  const StepGeometry g_;
  int64_t chunk_ = 0, row_tap_ = 0, column_tap_ = 0;
  int64_t k0_ = 0, length_ = 0;  // of the chunk
};

}  // namespace dgrad

#endif  // DGRAD_ALGORITHMS_STEPS_H_
