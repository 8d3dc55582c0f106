#include "src/algorithms/winograd/winograd_input.h"

#include <algorithm>
#include <type_traits>

#include "src/algorithms/winograd/winograd_filter.h"
#include "src/base/prefetch.h"

namespace dgrad::winograd {

template <typename S, typename T>
typename InputTransform<S, T>::Line InputTransform<S, T>::LineOf(const TileRun& run) const {
  const int64_t step = plan_.columns.in_step();
  Line line;
  line.columns = run.count * run.column.outputs + plan_.columns.taps() - 1;
  line.first = std::clamp<int64_t>(CeilDivide(-run.column.in_begin, step), 0, line.columns);
  line.last = std::clamp<int64_t>(CeilDivide(p_.columns.out - run.column.in_begin, step),
                                  line.first, line.columns);
  return line;
}

// Inlined by force, as all that only prefetches.
template <typename S, typename T>
[[gnu::always_inline]] inline void InputTransform<S, T>::Prefetch(const TileRun& run, int row_piece,
                                                                  int64_t channel,
                                                                  int64_t channels) const {
  const int64_t step = plan_.columns.in_step();
  const int64_t columns = run.count * run.column.outputs + plan_.columns.taps() - 1;
  const TapPiece rows = plan_.rows.piece(row_piece);
  for (int i = 0; i < run.row.outputs + rows.taps - 1; ++i) {
    const int64_t row = run.row.in_begin + (rows.begin + i) * plan_.rows.in_step();
    if (row < 0 || row >= p_.rows.out) continue;
    const S* from =
        source_ +
        ((run.image * p_.rows.out + row) * p_.columns.out + run.column.in_begin) * p_.out_channels +
        channel;
    for (int64_t j = 0; j < columns; ++j, from += step * p_.out_channels) {
      PrefetchForRead(from, channels * static_cast<int64_t>(sizeof(S)));
    }
  }
}

// Rows of points for each column of pixels, then columns of points for each piece of the columns'
// taps.
template <typename S, typename T>
void InputTransform<S, T>::Transform(const TileRun& run, const TileRun* next, int row_piece,
                                     const Scratch<T>& scratch) const {
  const Line line = LineOf(run);
  const int64_t plane = plan_.PlaneElements(plan_.terms_pitch);
  const int64_t elements = Points(run.row) * line.columns * plan_.chunk;
  Strip strip;
  strip.lines = scratch.strip;
  strip.raw = strip.lines + elements;
  strip.zeros = strip.raw + (plan_.converts_in ? elements : 0);
  std::fill(strip.zeros, strip.zeros + plan_.chunk, T{});
  for (int64_t i = 0; i < plan_.term_pieces(); ++i) {
    const Piece piece = PieceAt(plan_, i);
    T* const v = scratch.v + i * plan_.planes() * plane + run.first * plan_.terms_pitch;
    for (int64_t c = 0; c < piece.count; c += plan_.chunk) {
      const int64_t channels = std::min(plan_.chunk, piece.count - c);
      if (!plan_.converts_in && next != nullptr) {
        Prefetch(*next, row_piece, piece.begin + c, channels);
      }
      TransformChunk(run, line, row_piece, piece.begin + c, channels, strip, v + c);
    }
  }
}

// Channels [channel, channel + channels) of a run: through the strip to V, whose vectors they
// begin at v in the first piece of the columns' taps.
template <typename S, typename T>
void InputTransform<S, T>::TransformChunk(const TileRun& run, const Line& line, int row_piece,
                                          int64_t channel, int64_t channels, const Strip& strip,
                                          T* v) const {
  const int64_t step = plan_.columns.in_step();
  const int64_t chunk = plan_.chunk;
  const int row_set = plan_.rows.point_set(run.row.outputs, row_piece);
  const int row_points = kernels::kPointSets[row_set].count;
  const int64_t first_row =
      run.row.in_begin + plan_.rows.piece(row_piece).begin * plan_.rows.in_step();
  kernels::TransformCall<T> call{};
  call.lines = line.last - line.first;
  call.channels = channels;
  call.exact_from = !plan_.converts_in;
  call.to_line = chunk;
  for (int i = 0; i < row_points; ++i) {
    T* const to = strip.lines + i * line.columns * chunk;
    call.to[i] = to + line.first * chunk;
    std::fill(to, to + line.first * chunk, T{});
    std::fill(to + line.last * chunk, to + line.columns * chunk, T{});
    const int64_t row = first_row + i * plan_.rows.in_step();
    call.from[i] = strip.zeros;
    call.from_line[i] = 0;
    if (row < 0 || row >= p_.rows.out || line.last <= line.first) continue;
    const int64_t column = run.column.in_begin + line.first * step;
    if (plan_.converts_in) {
      T* const raw = strip.raw + i * line.columns * chunk;
      Convert(run.image, row, column, line.last - line.first, channel, channels, raw);
      call.from[i] = raw;
      call.from_line[i] = chunk;
    } else if constexpr (std::is_same_v<S, T>) {
      call.from[i] = source_ +
                     ((run.image * p_.rows.out + row) * p_.columns.out + column) * p_.out_channels +
                     channel;
      call.from_line[i] = step * p_.out_channels;
    }
  }
  const int64_t plane = plan_.PlaneElements(plan_.terms_pitch);
  const bool inside = line.first == 0 && line.last == line.columns;
  // With one tap along an axis its pass would only copy.
  if (inside && plan_.columns.taps() == 1) {
    for (int i = 0; i < row_points; ++i) {
      call.to[i] = v + PlaneOf(plan_, row_set, i, run.column.point_set, 0) * plane;
    }
    call.to_line = plan_.terms_pitch;
    family_.input[row_set](call);
    return;
  }
  const T* from = strip.lines;
  int64_t from_column = chunk;
  if (inside && plan_.rows.taps() == 1) {
    from = call.from[0];
    from_column = call.from_line[0];
  } else {
    family_.input[row_set](call);
    call.channels = RoundUp(channels, plan_.lanes);
    call.exact_from = false;
  }
  call.lines = run.count;
  call.to_line = plan_.terms_pitch;
  for (int piece = 0; piece < plan_.columns.pieces(); ++piece) {
    const int column_set = plan_.columns.point_set(run.column.outputs, piece);
    const int column_points = kernels::kPointSets[column_set].count;
    const int64_t first = plan_.columns.piece(piece).begin;
    for (int i = 0; i < row_points; ++i) {
      for (int j = 0; j < column_points; ++j) {
        call.from[j] = from + (i * line.columns + first + j) * from_column;
        call.from_line[j] = run.column.outputs * from_column;
        call.to[j] = v + PlaneOf(plan_, row_set, i, column_set, j) * plane;
      }
      family_.input[column_set](call);
    }
    v += plan_.term_pieces() * plan_.planes() * plane;
  }
}

template <typename S, typename T>
void InputTransform<S, T>::LoadWindow(const TileRun& run, int64_t tile,
                                      const Scratch<T>& scratch) const {
  const int64_t chunk = plan_.chunk;
  T pixel[kChunkVectors * 64 / sizeof(T)];
  for (int i = 0; i < run.row.outputs + plan_.rows.taps() - 1; ++i) {
    const int64_t row = run.row.in_begin + i * plan_.rows.in_step();
    if (row < 0 || row >= p_.rows.out) continue;
    for (int j = 0; j < run.column.outputs + plan_.columns.taps() - 1; ++j) {
      const int64_t column =
          run.column.in_begin + (tile * run.column.outputs + j) * plan_.columns.in_step();
      if (column < 0 || column >= p_.columns.out) continue;
      T* const to = scratch.window + (i * plan_.columns.window() + j) * p_.out_channels;
      for (int64_t c = 0; c < p_.out_channels; c += chunk) {
        const int64_t channels = std::min(chunk, p_.out_channels - c);
        Convert(run.image, row, column, 1, c, channels, pixel);
        std::copy(pixel, pixel + channels, to + c);
      }
    }
  }
}

// Pixels of a row of out_backprop, in_step apart, to [pixel][chunk], zeros behind the channels.
template <typename S, typename T>
void InputTransform<S, T>::Convert(int64_t image, int64_t row, int64_t column, int64_t count,
                                   int64_t first_channel, int64_t channels, T* to) const {
  const int64_t step = plan_.columns.in_step();
  const int64_t chunk = plan_.chunk;
  if (channels < chunk) std::fill(to, to + count * chunk, T{});
  if (p_.layout == Layout::kNhwc) {
    const S* from = source_ +
                    ((image * p_.rows.out + row) * p_.columns.out + column) * p_.out_channels +
                    first_channel;
    for (int64_t i = 0; i < count; ++i) {
      kernels::Widen(convert_, from + i * step * p_.out_channels, to + i * chunk, channels);
    }
    return;
  }
  const int64_t plane = p_.rows.out * p_.columns.out;
  const S* const from =
      source_ + (image * p_.out_channels + first_channel) * plane + row * p_.columns.out + column;
  if constexpr (std::is_same_v<S, T>) {
    if (step == 1) return transpose_(from, plane, to, chunk, channels, count);
    for (int64_t i = 0; i < count; ++i) {
      transpose_(from + i * step, plane, to + i * chunk, chunk, channels, 1);
    }
  } else {
    constexpr int64_t kPlanes = 16;
    constexpr int64_t kLine = kRunTiles * kernels::kMaxOutputs + kMostTaps;
    T wide[kPlanes * kLine];
    for (int64_t k = 0; k < channels; k += kPlanes) {
      const int64_t planes = std::min(kPlanes, channels - k);
      for (int64_t n = 0; n < planes; ++n) {
        const S* const line = from + (k + n) * plane;
        if (step == 1) {
          kernels::Widen(convert_, line, wide + n * kLine, count);
        } else {
          for (int64_t i = 0; i < count; ++i) {
            kernels::Widen(convert_, line + i * step, wide + n * kLine + i, 1);
          }
        }
      }
      transpose_(wide, kLine, to + k, chunk, planes, count);
    }
  }
}

template class InputTransform<float, float>;
template class InputTransform<double, double>;
template class InputTransform<Float16, float>;
template class InputTransform<BFloat16, float>;

}  // namespace dgrad::winograd
