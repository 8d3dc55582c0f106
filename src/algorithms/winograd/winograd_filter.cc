#include "src/algorithms/winograd/winograd_filter.h"

#include <algorithm>

#include "src/algorithms/direct/pack_block.h"
#include "src/base/prefetch.h"
#include "src/kernels/winograd/winograd.h"

namespace dgrad::winograd {

Piece PieceAt(const WinogradPlan& plan, int64_t index) {
  const int64_t parts = plan.pieces_per_chunk();
  const int64_t terms = plan.problem.out_channels;
  Piece piece;
  const int64_t taps = index / plan.term_pieces();
  index %= plan.term_pieces();
  piece.row_piece = static_cast<int>(taps / plan.columns.pieces());
  piece.column_piece = static_cast<int>(taps % plan.columns.pieces());
  piece.chunk_begin = PartBegin(terms, plan.fallback->term_chunks, index / parts);
  piece.chunk_count =
      PartBegin(terms, plan.fallback->term_chunks, index / parts + 1) - piece.chunk_begin;
  const int64_t first = PartBegin(piece.chunk_count, parts, index % parts);
  piece.begin = piece.chunk_begin + first;
  piece.count = PartBegin(piece.chunk_count, parts, index % parts + 1) - first;
  piece.terms_before = taps * terms + piece.begin;
  return piece;
}

template <typename T>
void TransformFilter(const WinogradPlan& plan, const T* taps, Block block, int64_t phase,
                     const Piece& piece, T* scratch, T* to) {
  const kernels::WinogradFamily<T>& family = kernels::Winograd<T>(plan.isa);
  const direct::DirectPlan& source = *plan.fallback;
  const TapPlaces& rows = plan.row_taps[phase / plan.columns.phases()];
  const TapPlaces& columns = plan.column_taps[phase % plan.columns.phases()];
  const int64_t width = block.count * plan.lanes;
  const int64_t elements = piece.count * width;
  const int row_points = plan.rows.points(), column_points = plan.columns.points();
  if (rows.phase < 0 || columns.phase < 0) {
    std::fill(to, to + row_points * column_points * elements, T{});
    return;
  }
  const Phase& row_phase = source.row_phases[rows.phase];
  const direct::ColumnGroup& group = source.column_groups[columns.phase];
  T* const zeros = scratch;
  std::fill(zeros, zeros + std::min(kFilterStep, elements), T{});
  T* const lines = scratch + kFilterStep;  // [row point][column tap][element]
  const TapPiece row_piece = plan.rows.piece(piece.row_piece);
  const TapPiece column_piece = plan.columns.piece(piece.column_piece);
  const auto tap = [&](int i, int j) -> const T* {
    const int64_t row_tap = rows.tap[row_piece.begin + i];
    const int64_t column_tap = columns.tap[column_piece.begin + j];
    if (row_tap < 0 || column_tap < 0) return nullptr;
    return taps + (piece.chunk_begin * row_phase.taps * group.phase.taps +
                   (row_tap * group.phase.taps + column_tap) * piece.chunk_count + piece.begin -
                   piece.chunk_begin) *
                      width;
  };
  kernels::TransformCall<T> call{};
  call.lines = 1;
  const int row_taps = row_piece.taps, column_taps = column_piece.taps;
  for (int64_t e = 0; e < elements; e += kFilterStep) {
    call.channels = std::min(kFilterStep, elements - e);
    for (int j = 0; j < column_taps; ++j) {
      for (int i = 0; i < row_taps; ++i) {
        const T* const from = tap(i, j);
        call.from[i] = from == nullptr ? zeros : from + e;
        if (from != nullptr && e + kFilterStep < elements) {
          PrefetchForRead(
              from + e + kFilterStep,
              std::min(kFilterStep, elements - e - kFilterStep) * static_cast<int64_t>(sizeof(T)));
        }
      }
      for (int p = 0; p < row_points; ++p) {
        call.to[p] = lines + (p * column_taps + j) * kFilterStep;
      }
      family.filter[row_taps](call);
    }
    for (int p = 0; p < row_points; ++p) {
      for (int j = 0; j < column_taps; ++j) {
        call.from[j] = lines + (p * column_taps + j) * kFilterStep;
      }
      for (int q = 0; q < column_points; ++q) {
        call.to[q] = to + (p * column_points + q) * elements + e;
      }
      family.filter[column_taps](call);
    }
  }
}

template void TransformFilter(const WinogradPlan&, const float*, Block, int64_t, const Piece&,
                              float*, float*);
template void TransformFilter(const WinogradPlan&, const double*, Block, int64_t, const Piece&,
                              double*, double*);

template <typename S, typename T>
void FilterSource<S, T>::PackBlock(Block block, T* scratch) const {
  if (filter_ == nullptr) return;
  const direct::DirectPlan& direct = *plan_.fallback;
  for (int64_t a = 0; a < static_cast<int64_t>(direct.row_phases.size()); ++a) {
    for (const direct::ColumnGroup& group : direct.column_groups) {
      direct::PackBlock(direct, filter_, 0, direct.row_phases[a], group, block,
                        scratch + BlockOffset(block, a, group));
    }
  }
}

template <typename S, typename T>
const T* FilterSource<S, T>::TapsOf(Block block, int64_t row_phase, int64_t column_group,
                                    const T* scratch) const {
  const direct::DirectPlan& direct = *plan_.fallback;
  const direct::ColumnGroup& group = direct.column_groups[column_group];
  if (filter_ != nullptr) return scratch + BlockOffset(block, row_phase, group);
  return packed_ + direct.PackedOffset(0, row_phase, group) +
         direct.BlockElements(row_phase, group, block.first);
}

// Of a block packed in scratch: [row phase][column group].
template <typename S, typename T>
int64_t FilterSource<S, T>::BlockOffset(Block block, int64_t row_phase,
                                        const direct::ColumnGroup& group) const {
  const direct::DirectPlan& direct = *plan_.fallback;
  const int64_t taps =
      direct.row_taps_before[row_phase] * plan_.taps_total() / direct.row_taps_total +
      direct.row_phases[row_phase].taps * plan_.column_taps_before(group);
  return taps * plan_.problem.out_channels * block.count * plan_.lanes;
}

template class FilterSource<float, float>;
template class FilterSource<double, double>;
template class FilterSource<Float16, float>;
template class FilterSource<BFloat16, float>;

}  // namespace dgrad::winograd
