// Winograd's tiles that are not finite, by direct sums in the direct algorithm's order: a value
// that is not finite must spread as far as the definition says, no further.
#ifndef DGRAD_ALGORITHMS_WINOGRAD_WINOGRAD_RECOMPUTE_H_
#define DGRAD_ALGORITHMS_WINOGRAD_WINOGRAD_RECOMPUTE_H_

#include <cstdint>

#include "src/algorithms/winograd/winograd_filter.h"
#include "src/algorithms/winograd/winograd_input.h"
#include "src/algorithms/winograd/winograd_task.h"
#include "src/kernels/gemm/gemm.h"

namespace dgrad::winograd {

template <typename S, typename T>
class DirectSums {
 public:
  DirectSums(const WinogradPlan& plan, const InputTransform<S, T>& input,
             const FilterSource<S, T>& filter)
      : plan_(plan),
        p_(plan.problem),
        gemm_(kernels::Gemm<T>(plan.isa)),
        input_(input),
        filter_(filter) {}

  // All outputs of a run and a block, of which `channels` channels are real.
  void Compute(const RunOutputs<T>& outputs, Block block, int64_t channels,
               const Scratch<T>& scratch) const;

 private:
  // One output of a tile.
  struct Pixel {
    int64_t tile;
    int64_t row, column;
    int64_t row_phase, column_phase;
  };
  void SumPixel(const TileRun& run, const Pixel& pixel, Block block, int64_t channels,
                const Scratch<T>& scratch, T* to) const;

  const WinogradPlan& plan_;
  const Problem& p_;
  const kernels::GemmFamily<T>& gemm_;
  const InputTransform<S, T>& input_;
  const FilterSource<S, T>& filter_;
};

extern template class DirectSums<float, float>;
extern template class DirectSums<double, double>;
extern template class DirectSums<Float16, float>;
extern template class DirectSums<BFloat16, float>;

}  // namespace dgrad::winograd

#endif  // DGRAD_ALGORITHMS_WINOGRAD_WINOGRAD_RECOMPUTE_H_
