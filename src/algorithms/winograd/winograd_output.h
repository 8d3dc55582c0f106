// Winograd's writing side: M to in_backprop.
#ifndef DGRAD_ALGORITHMS_WINOGRAD_WINOGRAD_OUTPUT_H_
#define DGRAD_ALGORITHMS_WINOGRAD_WINOGRAD_OUTPUT_H_

#include <cstdint>

#include "src/algorithms/streaming.h"
#include "src/algorithms/tensor_mover.h"
#include "src/algorithms/winograd/winograd_task.h"
#include "src/kernels/winograd/winograd.h"

namespace dgrad::winograd {

// S: elements of in_backprop, T: of M.
template <typename S, typename T>
class OutputTransform {
 public:
  OutputTransform(const WinogradPlan& plan, S* in_backprop)
      : plan_(plan),
        p_(plan.problem),
        family_(kernels::Winograd<T>(plan.isa)),
        streams_(StreamsResult(plan.problem, in_backprop)),
        mover_(plan.problem, plan.isa, false, false, streams_),
        result_(in_backprop) {}

  // Where `channels` channels of a run from first_channel on go at first: Transform writes there,
  // and Finish carries on to in_backprop from where that is scratch.
  RunOutputs<T> OutputsOf(const TileRun& run, int64_t first_channel, int64_t channels,
                          const Scratch<T>& scratch) const;
  // The results of a run and a block, of which `channels` channels are real. Whether all of them
  // are finite.
  bool Transform(const RunOutputs<T>& outputs, Block block, int64_t channels,
                 const Scratch<T>& scratch) const;
  void Finish(const RunOutputs<T>& outputs, int64_t first_channel, int64_t channels) const;
  // After the last run of a task.
  void Fence() const {
    if (streams_) FenceStreams();
  }

 private:
  bool TransformPhase(const RunOutputs<T>& outputs, Block block, int64_t phase, int64_t channels,
                      const Scratch<T>& scratch) const;

  const WinogradPlan& plan_;
  const Problem& p_;
  const kernels::WinogradFamily<T>& family_;
  const bool streams_;  // the result is written past the caches
  const TensorMover<S, T> mover_;
  S* const result_;
};

extern template class OutputTransform<float, float>;
extern template class OutputTransform<double, double>;
extern template class OutputTransform<Float16, float>;
extern template class OutputTransform<BFloat16, float>;

}  // namespace dgrad::winograd

#endif  // DGRAD_ALGORITHMS_WINOGRAD_WINOGRAD_OUTPUT_H_
