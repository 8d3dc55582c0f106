// Rows of tensors to and from scratch memory: element type, layout and order of channels.
#ifndef DGRAD_ALGORITHMS_TENSOR_MOVER_H_
#define DGRAD_ALGORITHMS_TENSOR_MOVER_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "src/base/isa.h"
#include "src/kernels/convert/convert.h"
#include "src/kernels/transpose/transpose.h"
#include "src/problem/problem.h"

namespace dgrad {

// S is the tensors' type, T the compute type. Scratch rows are [column][channel], with channels
// where the tables put them.
template <typename S, typename T>
class TensorMover {
 public:
  // out_channel_position, in_channel_position: where a channel goes in scratch rows of out_backprop
  // and where it comes from in those of in_backprop; null: where it is. All must outlive this.
  TensorMover(const Problem& problem, Isa isa, const int64_t* out_channel_position = nullptr,
              const int64_t* in_channel_position = nullptr)
      : p_(problem),
        out_(out_channel_position),
        in_(in_channel_position),
        convert_(kernels::Convert(isa)),
        transpose_(kernels::Transpose<T>(isa)) {}

  // One row of one image of out_backprop.
  void ConvertRow(const S* out_backprop, int64_t image, int64_t row, T* to) const {
    if (p_.layout == Layout::kNhwc) {
      FromNhwc(out_backprop + (image * p_.rows.out + row) * p_.columns.out * p_.out_channels, to);
    } else {
      FromNchw(out_backprop + (image * p_.out_channels * p_.rows.out + row) * p_.columns.out, to);
    }
  }

  // Columns [begin, end) of one row of one image; scratch has the channels [first, last), all of
  // them if there is a table.
  void UnstageRow(const T* from, int64_t image, int64_t row, int64_t begin, int64_t end,
                  int64_t first, int64_t last, S* in_backprop) const {
    if (p_.layout == Layout::kNhwc) {
      S* const to = in_backprop +
                    ((image * p_.rows.in + row) * p_.columns.in + begin) * p_.in_channels + first;
      ToNhwc(from, end - begin, last - first, to);
    } else {
      S* const to = in_backprop +
                    ((image * p_.in_channels + first) * p_.rows.in + row) * p_.columns.in + begin;
      ToNchw(from, end - begin, last - first, to);
    }
  }

 private:
  // Conversions go through lines of this many elements, several at a time.
  static constexpr int64_t kLine = 256;
  static constexpr int64_t kLines = 16;

  void FromNhwc(const S* from, T* to) const {
    const int64_t channels = p_.out_channels;
    if (out_ == nullptr) return kernels::Widen(convert_, from, to, p_.columns.out * channels);
    T line[kLine];
    for (int64_t w = 0; w < p_.columns.out; ++w, from += channels, to += channels) {
      for (int64_t c = 0; c < channels; c += kLine) {
        const int64_t count = std::min(kLine, channels - c);
        kernels::Widen(convert_, from + c, line, count);
        for (int64_t i = 0; i < count; ++i) to[out_[c + i]] = line[i];
      }
    }
  }

  void FromNchw(const S* from, T* to) const {
    const int64_t channels = p_.out_channels;
    const int64_t plane = p_.rows.out * p_.columns.out;
    T lines[kLines * kLine];
    for (int64_t c = 0; c < channels; c += kLines) {
      const int64_t count = std::min(kLines, channels - c);
      for (int64_t w = 0; w < p_.columns.out; w += kLine) {
        const int64_t width = std::min(kLine, p_.columns.out - w);
        T* const block = to + w * channels;
        if constexpr (std::is_same_v<S, T>) {
          if (out_ == nullptr) {
            transpose_(from + c * plane + w, plane, block + c, channels, count, width);
            continue;
          }
        }
        for (int64_t i = 0; i < count; ++i) {
          kernels::Widen(convert_, from + (c + i) * plane + w, lines + i * kLine, width);
        }
        if (out_ == nullptr) {
          transpose_(lines, kLine, block + c, channels, count, width);
        } else {
          for (int64_t i = 0; i < count; ++i) {
            transpose_(lines + i * kLine, kLine, block + out_[c + i], channels, 1, width);
          }
        }
      }
    }
  }

  void ToNhwc(const T* from, int64_t columns, int64_t depth, S* to) const {
    if (in_ == nullptr && depth == p_.in_channels) {
      return kernels::Narrow(convert_, from, to, columns * depth);
    }
    T line[kLine];
    for (int64_t w = 0; w < columns; ++w, from += depth, to += p_.in_channels) {
      if (in_ == nullptr) {
        kernels::Narrow(convert_, from, to, depth);
        continue;
      }
      for (int64_t c = 0; c < depth; c += kLine) {
        const int64_t count = std::min(kLine, depth - c);
        for (int64_t i = 0; i < count; ++i) line[i] = from[in_[c + i]];
        kernels::Narrow(convert_, line, to + c, count);
      }
    }
  }

  void ToNchw(const T* from, int64_t columns, int64_t depth, S* to) const {
    const int64_t plane = p_.rows.in * p_.columns.in;
    T lines[kLines * kLine];
    for (int64_t c = 0; c < depth; c += kLines) {
      const int64_t count = std::min(kLines, depth - c);
      for (int64_t w = 0; w < columns; w += kLine) {
        const int64_t width = std::min(kLine, columns - w);
        const T* const block = from + w * depth;
        if constexpr (std::is_same_v<S, T>) {
          if (in_ == nullptr) {
            transpose_(block + c, depth, to + c * plane + w, plane, width, count);
            continue;
          }
        }
        if (in_ == nullptr) {
          transpose_(block + c, depth, lines, kLine, width, count);
        } else {
          for (int64_t i = 0; i < count; ++i) {
            transpose_(block + in_[c + i], depth, lines + i * kLine, kLine, width, 1);
          }
        }
        for (int64_t i = 0; i < count; ++i) {
          kernels::Narrow(convert_, lines + i * kLine, to + (c + i) * plane + w, width);
        }
      }
    }
  }

  const Problem& p_;
  const int64_t* const out_;  // null: channels stay where they are
  const int64_t* const in_;
  const kernels::ConvertFamily& convert_;
  const kernels::TransposeKernel<T> transpose_;
};

}  // namespace dgrad

#endif  // DGRAD_ALGORITHMS_TENSOR_MOVER_H_
