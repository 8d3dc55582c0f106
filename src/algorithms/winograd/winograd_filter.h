// Winograd's filter: the direct algorithm's packed one, and U, which is made from it.
#ifndef DGRAD_ALGORITHMS_WINOGRAD_WINOGRAD_FILTER_H_
#define DGRAD_ALGORITHMS_WINOGRAD_WINOGRAD_FILTER_H_

#include <cstdint>

#include "src/algorithms/winograd/winograd_plan.h"

namespace dgrad::winograd {

// A piece of a sum: terms [begin, begin + count) of a chunk of the direct algorithm's, for a piece
// of the taps of either axis.
struct Piece {
  int row_piece = 0, column_piece = 0;
  int64_t begin = 0;
  int64_t count = 0;
  int64_t chunk_begin = 0;
  int64_t chunk_count = 0;
  int64_t terms_before = 0;  // of the pieces before
};
Piece PieceAt(const WinogradPlan& plan, int64_t index);

// U of one block of channels, phase and piece: [plane][term][width]. `taps` is the direct
// algorithm's packed filter of the block and the phase; scratch holds kFilterScratch elements.
inline constexpr int64_t kFilterStep = 512;  // elements at a time
inline constexpr int64_t kFilterScratch =
    (kernels::kMaxPoints * kernels::kMaxTaps + 1) * kFilterStep;
template <typename T>
void TransformFilter(const WinogradPlan& plan, const T* taps, Block block, int64_t phase,
                     const Piece& piece, T* scratch, T* to);
extern template void TransformFilter(const WinogradPlan&, const float*, Block, int64_t,
                                     const Piece&, float*, float*);
extern template void TransformFilter(const WinogradPlan&, const double*, Block, int64_t,
                                     const Piece&, double*, double*);

// The direct algorithm's packed filter, block by block: as it was handed over, or packed here.
// S: elements of the filter, T: of the packed one.
template <typename S, typename T>
class FilterSource {
 public:
  // Either packed or filter is null.
  FilterSource(const WinogradPlan& plan, const T* packed, const S* filter)
      : plan_(plan), packed_(packed), filter_(filter) {}

  // Packs a block to `scratch` unless all is packed.
  void PackBlock(Block block, T* scratch) const;
  // The taps of one of the direct algorithm's row phases and column groups; `scratch` holds what
  // PackBlock made.
  const T* TapsOf(Block block, int64_t row_phase, int64_t column_group, const T* scratch) const;

 private:
  int64_t BlockOffset(Block block, int64_t row_phase, const direct::ColumnGroup& group) const;

  const WinogradPlan& plan_;
  const T* const packed_;
  const S* const filter_;
};

extern template class FilterSource<float, float>;
extern template class FilterSource<double, double>;
extern template class FilterSource<Float16, float>;
extern template class FilterSource<BFloat16, float>;

}  // namespace dgrad::winograd

#endif  // DGRAD_ALGORITHMS_WINOGRAD_WINOGRAD_FILTER_H_
