// Pixels of tensors to and from scratch memory: element type, layout and order of channels.
#ifndef DGRAD_ALGORITHMS_TENSOR_MOVER_H_
#define DGRAD_ALGORITHMS_TENSOR_MOVER_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "src/base/isa.h"
#include "src/base/prefetch.h"
#include "src/kernels/convert/convert.h"
#include "src/kernels/transpose/transpose.h"
#include "src/problem/problem.h"

namespace dgrad {

// A rectangle of pixels of one image.
struct PixelBox {
  int64_t image = 0;
  int64_t row_begin = 0, row_end = 0;
  int64_t column_begin = 0, column_end = 0;

  int64_t rows() const { return row_end - row_begin; }
  int64_t columns() const { return column_end - column_begin; }
};

// S is the tensors' type, T the compute type. Scratch is [row][column][channel], the channels in
// the tensors' order or interleaved: channel k of each group side by side, then k + 1.
template <typename S, typename T>
class TensorMover {
 public:
  // The problem must outlive this. A streamed result (streaming.h) wants a fence after Unstage.
  TensorMover(const Problem& problem, Isa isa, bool interleave_out = false,
              bool interleave_in = false, bool stream_result = false)
      : p_(problem),
        out_(problem.out_channels, problem.groups, interleave_out),
        in_(problem.in_channels, problem.groups, interleave_in),
        convert_(kernels::Convert(isa)),
        transpose_(kernels::Transpose<T>(isa)),
        to_planes_(stream_result ? kernels::StreamingTranspose<T>(isa) : transpose_) {}

  // Of out_backprop to scratch, all channels; pixels of scratch are `pitch` elements apart.
  void Convert(const S* out_backprop, const PixelBox& box, T* to) const {
    Convert(out_backprop, box, to, p_.out_channels);
  }
  void Convert(const S* out_backprop, const PixelBox& box, T* to, int64_t pitch) const {
    Runs(box, p_.columns.out, [&](int64_t row, int64_t column, int64_t count) {
      const int64_t pixel = row * p_.columns.out + column;
      const int64_t plane = p_.rows.out * p_.columns.out;
      if (p_.layout == Layout::kNhwc) {
        FromNhwc(out_backprop + (box.image * plane + pixel) * p_.out_channels, count, to, pitch);
      } else {
        FromNchw(out_backprop + box.image * plane * p_.out_channels + pixel, plane, count, to,
                 pitch);
      }
      to += count * pitch;
    });
  }

  // Of scratch to in_backprop: the channels [first, last), which is all that scratch has; every one
  // if they are interleaved.
  void Unstage(const T* from, const PixelBox& box, int64_t first, int64_t last,
               S* in_backprop) const {
    const int64_t depth = last - first;
    Runs(box, p_.columns.in, [&](int64_t row, int64_t column, int64_t count) {
      const int64_t pixel = row * p_.columns.in + column;
      const int64_t plane = p_.rows.in * p_.columns.in;
      if (p_.layout == Layout::kNhwc) {
        ToNhwc(from, count, depth,
               in_backprop + (box.image * plane + pixel) * p_.in_channels + first);
      } else {
        ToNchw(from, count, depth, plane,
               in_backprop + (box.image * p_.in_channels + first) * plane + pixel);
      }
      from += count * depth;
    });
  }

  // Columns [begin, end) of one row of one image.
  void UnstageRow(const T* from, int64_t image, int64_t row, int64_t begin, int64_t end,
                  int64_t first, int64_t last, S* in_backprop) const {
    Unstage(from, {image, row, row + 1, begin, end}, first, last, in_backprop);
  }

 private:
  // Half types are converted this many elements at a time, in the first cache.
  static constexpr int64_t kBuffer = 4096;
  // Planes that are read or written side by side: what fills a line of the other side.
  static constexpr int64_t kPlanes = 16;
  // Scratch that is filled at a time. Runs of pixels should be long, and scratch stay in cache.
  static constexpr int64_t kScratchBytes = int64_t{512} << 10;

  // Channels are runs of `inner` neighbours in the tensor; scratch has element k of all `outer`
  // runs side by side.
  struct Order {
    Order(int64_t channels, int64_t groups, bool interleave)
        : outer(interleave ? groups : channels), inner(interleave ? channels / groups : 1) {}
    int64_t outer, inner;
  };

  // Calls run(row, column, count) for runs of pixels that are neighbours in the tensor.
  template <typename Run>
  static void Runs(const PixelBox& box, int64_t width, const Run& run) {
    if (box.rows() <= 0 || box.columns() <= 0) return;
    if (box.columns() == width) return run(box.row_begin, 0, box.rows() * width);
    for (int64_t row = box.row_begin; row < box.row_end; ++row) {
      run(row, box.column_begin, box.columns());
    }
  }

  void FromNhwc(const S* from, int64_t pixels, T* to, int64_t pitch) const {
    const int64_t channels = p_.out_channels;
    if (out_.inner == 1 && pitch == channels) {
      return kernels::Widen(convert_, from, to, pixels * channels);
    }
    for (int64_t i = 0; i < pixels; ++i, from += channels, to += pitch) {
      if (out_.inner == 1) {
        kernels::Widen(convert_, from, to, channels);
      } else if constexpr (std::is_same_v<S, T>) {
        transpose_(from, out_.inner, to, out_.outer, out_.outer, out_.inner);
      } else {
        Pieces(out_, [&](int64_t g, int64_t k, int64_t groups, int64_t depth) {
          T wide[kBuffer];
          kernels::Widen(convert_, from + g * out_.inner + k, wide, groups * depth);
          transpose_(wide, depth, to + k * out_.outer + g, out_.outer, groups, depth);
        });
      }
    }
  }

  void ToNhwc(const T* from, int64_t pixels, int64_t depth, S* to) const {
    if (in_.inner == 1 && depth == p_.in_channels) {
      return kernels::Narrow(convert_, from, to, pixels * depth);
    }
    for (int64_t i = 0; i < pixels; ++i, from += depth, to += p_.in_channels) {
      if (in_.inner == 1) {
        kernels::Narrow(convert_, from, to, depth);
      } else if constexpr (std::is_same_v<S, T>) {
        transpose_(from, in_.outer, to, in_.inner, in_.inner, in_.outer);
      } else {
        Pieces(in_, [&](int64_t g, int64_t k, int64_t groups, int64_t part) {
          T wide[kBuffer];
          transpose_(from + k * in_.outer + g, in_.outer, wide, part, part, groups);
          kernels::Narrow(convert_, wide, to + g * in_.inner + k, groups * part);
        });
      }
    }
  }

  // Calls piece(group, k, groups, depth) for pieces of at most kBuffer neighbouring channels: whole
  // groups, or a part of one.
  template <typename Piece>
  static void Pieces(const Order& order, const Piece& piece) {
    const int64_t depth = std::min(order.inner, kBuffer);
    const int64_t groups = depth == order.inner ? kBuffer / depth : 1;
    for (int64_t g = 0; g < order.outer; g += groups) {
      for (int64_t k = 0; k < order.inner; k += depth) {
        piece(g, k, std::min(groups, order.outer - g), std::min(depth, order.inner - k));
      }
    }
  }

  void FromNchw(const S* from, int64_t plane, int64_t pixels, T* to, int64_t pitch) const {
    constexpr int64_t kSize = sizeof(T);
    const int64_t group = out_.inner * plane;
    const int64_t most = std::max<int64_t>(64, kScratchBytes / (pitch * kSize) & ~int64_t{15});
    for (int64_t i = 0; i < pixels; i += most, from += most, to += most * pitch) {
      const int64_t count = std::min(most, pixels - i);
      for (int64_t k = 0; k < out_.inner; ++k) {
        for (int64_t g = 0; g < out_.outer; g += kPlanes) {
          FromPlanes(from + g * group + k * plane, group, std::min(kPlanes, out_.outer - g), count,
                     to + k * out_.outer + g, pitch);
        }
      }
    }
  }

  // At most kPlanes planes that are `group` apart.
  void FromPlanes(const S* from, int64_t group, int64_t planes, int64_t pixels, T* to,
                  int64_t pitch) const {
    if constexpr (std::is_same_v<S, T>) {
      transpose_(from, group, to, pitch, planes, pixels);
    } else {
      constexpr int64_t kLine = kBuffer / kPlanes;
      T wide[kBuffer];
      for (int64_t i = 0; i < pixels; i += kLine) {
        const int64_t count = std::min(kLine, pixels - i);
        for (int64_t n = 0; n < planes; ++n) {
          const S* const line = from + n * group + i;
          PrefetchForRead(line + kPlanes * group, count * static_cast<int64_t>(sizeof(S)));
          kernels::Widen(convert_, line, wide + n * kLine, count);
        }
        transpose_(wide, kLine, to + i * pitch, pitch, planes, count);
      }
    }
  }

  void ToNchw(const T* from, int64_t pixels, int64_t depth, int64_t plane, S* to) const {
    const int64_t outer = in_.inner == 1 ? depth : in_.outer;
    const int64_t pitch = in_.inner * plane;
    for (int64_t k = 0; k < in_.inner; ++k) {
      for (int64_t g = 0; g < outer; g += kPlanes) {
        ToPlanes(from + k * outer + g, depth, pixels, std::min(kPlanes, outer - g),
                 to + g * pitch + k * plane, pitch);
      }
    }
  }

  void ToPlanes(const T* from, int64_t depth, int64_t pixels, int64_t planes, S* to,
                int64_t pitch) const {
    if constexpr (std::is_same_v<S, T>) {
      to_planes_(from, depth, to, pitch, pixels, planes);
    } else {
      constexpr int64_t kLine = kBuffer / kPlanes;
      T wide[kBuffer];
      for (int64_t i = 0; i < pixels; i += kLine) {
        const int64_t count = std::min(kLine, pixels - i);
        transpose_(from + i * depth, depth, wide, kLine, count, planes);
        for (int64_t n = 0; n < planes; ++n) {
          kernels::Narrow(convert_, wide + n * kLine, to + n * pitch + i, count);
        }
      }
    }
  }

  const Problem& p_;
  const Order out_, in_;
  const kernels::ConvertFamily& convert_;
  const kernels::TransposeKernel<T> transpose_;
  const kernels::TransposeKernel<T> to_planes_;  // of the result
};

}  // namespace dgrad

#endif  // DGRAD_ALGORITHMS_TENSOR_MOVER_H_
