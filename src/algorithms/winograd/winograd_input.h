// Winograd's reading side: out_backprop to V, and to the window of a tile that is computed again.
#ifndef DGRAD_ALGORITHMS_WINOGRAD_WINOGRAD_INPUT_H_
#define DGRAD_ALGORITHMS_WINOGRAD_WINOGRAD_INPUT_H_

#include <cstdint>

#include "src/algorithms/winograd/winograd_task.h"
#include "src/kernels/convert/convert.h"
#include "src/kernels/transpose/transpose.h"
#include "src/kernels/winograd/winograd.h"

namespace dgrad::winograd {

// S: elements of out_backprop, T: of V.
template <typename S, typename T>
class InputTransform {
 public:
  InputTransform(const WinogradPlan& plan, const S* out_backprop)
      : plan_(plan),
        p_(plan.problem),
        family_(kernels::Winograd<T>(plan.isa)),
        convert_(kernels::Convert(plan.isa)),
        transpose_(kernels::Transpose<T>(plan.isa)),
        source_(out_backprop) {}

  // V of a run of tiles for a piece of the rows' taps. What `next` reads is prefetched; null:
  // nothing follows.
  void Transform(const TileRun& run, const TileRun* next, int row_piece,
                 const Scratch<T>& scratch) const;

  // What a tile of a run reads, into scratch.window: [row][column][out channel]; nothing where it
  // reads nothing.
  void LoadWindow(const TileRun& run, int64_t tile, const Scratch<T>& scratch) const;

 private:
  // What a run reads of a row: columns [first, last) of `columns` lie inside out_backprop.
  struct Line {
    int64_t columns, first, last;
  };
  // Parts of the strip: [row point][column][channel of a chunk], the same before the transform if
  // it is converted, and zeros.
  struct Strip {
    T *lines, *raw, *zeros;
  };

  Line LineOf(const TileRun& run) const;
  void TransformChunk(const TileRun& run, const Line& line, int row_piece, int64_t channel,
                      int64_t channels, const Strip& strip, T* v) const;
  void Prefetch(const TileRun& run, int row_piece, int64_t channel, int64_t channels) const;
  void Convert(int64_t image, int64_t row, int64_t column, int64_t count, int64_t first_channel,
               int64_t channels, T* to) const;

  const WinogradPlan& plan_;
  const Problem& p_;
  const kernels::WinogradFamily<T>& family_;
  const kernels::ConvertFamily& convert_;
  const kernels::TransposeKernel<T> transpose_;
  const S* const source_;
};

extern template class InputTransform<float, float>;
extern template class InputTransform<double, double>;
extern template class InputTransform<Float16, float>;
extern template class InputTransform<BFloat16, float>;

}  // namespace dgrad::winograd

#endif  // DGRAD_ALGORITHMS_WINOGRAD_WINOGRAD_INPUT_H_
