// Groups of few channels at run time: one task per region of one image.
#include <algorithm>
#include <type_traits>

#include "src/algorithms/small_groups/small_groups_plan.h"
#include "src/algorithms/streaming.h"
#include "src/base/integer.h"
#include "src/kernels/convert/convert.h"
#include "src/kernels/transpose/transpose.h"
#include "src/threads/partition.h"

namespace dgrad::small_groups {
namespace {

// S: the tensors' type; T: the compute type. K: what the kernel reads and writes.
template <typename S, typename T, typename K>
class Runner {
 public:
  Runner(const SmallGroupsPlan& plan, const void* out_backprop, const void* packed,
         void* in_backprop, void* workspace)
      : plan_(plan),
        p_(plan.problem),
        run_(kernels::GroupRows<K, T>(plan.isa).run),
        convert_(kernels::Convert(plan.isa)),
        streams_(plan.lanes * static_cast<int64_t>(sizeof(S)) == kLineBytes &&
                 StreamsResult(plan.problem, in_backprop, false)),
        transpose_(kernels::Transpose<T>(plan.isa)),
        to_planes_(streams_ ? kernels::StreamingTranspose<T>(plan.isa) : transpose_),
        source_(static_cast<const S*>(out_backprop)),
        packed_(static_cast<const T*>(packed)),
        result_(static_cast<S*>(in_backprop)),
        workspace_(static_cast<std::byte*>(workspace)) {}

  Status Run(Executor& executor, const Control& control) {
    const int64_t tasks = p_.batch * plan_.row_blocks * plan_.channel_blocks;
    return RunTasks(executor, plan_.slots, tasks, control, [&](int slot, int64_t task) {
      const int64_t channel_block = task % plan_.channel_blocks;
      task /= plan_.channel_blocks;
      const int64_t row_block = task % plan_.row_blocks;
      Region region;
      region.image = task / plan_.row_blocks;
      region.row_begin = PartBegin(p_.rows.in, plan_.row_blocks, row_block);
      region.row_end = PartBegin(p_.rows.in, plan_.row_blocks, row_block + 1);
      const int64_t units = plan_.channel_units();
      const auto vector = [&](int64_t block) {
        const int64_t unit = PartBegin(units, plan_.channel_blocks, block);
        return unit == units ? plan_.vectors : unit;
      };
      region.vector_begin = vector(channel_block);
      region.vector_end = vector(channel_block + 1);
      if constexpr (std::is_same_v<K, T>) {
        if (plan_.converts) return RunConverted(region, workspace_ + slot * plan_.slot_bytes);
      }
      if constexpr (std::is_same_v<K, S>) RunInPlace(region);
      if (streams_) FenceStreams();
    });
  }

 private:
  static constexpr int64_t kLineBytes = 64;

  struct Region {
    int64_t image = 0;
    int64_t row_begin = 0, row_end = 0;
    int64_t vector_begin = 0, vector_end = 0;
  };

  void RunInPlace(const Region& region) const {
    const int64_t a_row = p_.columns.out * p_.out_channels;
    const int64_t out_row = p_.columns.in * p_.in_channels;
    const S* const a = source_ + region.image * p_.rows.out * a_row;
    S* const out = result_ + region.image * p_.rows.in * out_row;
    for (int64_t v = region.vector_begin; v < region.vector_end; v += plan_.call_vectors) {
      const int64_t end = std::min(region.vector_end, v + plan_.call_vectors);
      const int64_t channel = plan_.FirstChannel(v);
      RunRows(region, v, end, a + channel, a_row, 0, out + channel, out_row, 0);
    }
  }

  // Rows of a region for vectors [begin, end) of channels. `a` holds rows of out_backprop from
  // first_a_row on, `out` rows of the result from first_out_row on, at the first channel.
  void RunRows(const Region& region, int64_t begin, int64_t end, const K* a, int64_t a_row,
               int64_t first_a_row, K* out, int64_t out_row, int64_t first_out_row) const {
    kernels::GroupRowCall<K, T> call;
    call.b_row_tap = plan_.row_size;
    call.b_vector = plan_.vector_size();
    call.parts = plan_.parts.data();
    call.part_count = static_cast<int64_t>(plan_.parts.size());
    call.vectors = end - begin;
    call.last_channel = plan_.FirstChannel(end - 1) - plan_.FirstChannel(begin);
    call.terms = plan_.terms;
    call.stream = streams_ && !plan_.converts;
    const T* const b = packed_ + begin * plan_.vector_size();
    for (int64_t h = region.row_begin; h < region.row_end; ++h) {
      call.out = out + (h - first_out_row) * out_row;
      call.out_ahead = h + 1 < region.row_end && !call.stream ? out_row : 0;
      call.a_ahead = 0;
      call.row_taps = 0;
      const int64_t which = plan_.row_phase_of[static_cast<size_t>(h % p_.rows.stride)];
      if (which >= 0) {
        const Phase& phase = plan_.row_phases[static_cast<size_t>(which)];
        const int64_t index = h / p_.rows.stride;
        const Segment taps = SegmentAt(phase, p_.rows.out, index, index + 1);
        if (!taps.empty()) {
          const int64_t row = index - phase.shift(taps.first_tap);
          call.a = a + (row - first_a_row) * a_row;
          call.a_row_tap = -phase.shift_step * a_row;
          call.row_taps = taps.last_tap - taps.first_tap;
          call.b = b + (plan_.row_taps_before[static_cast<size_t>(which)] + taps.first_tap) *
                           plan_.row_size;
          if (which == 0 && row + 1 < p_.rows.out) call.a_ahead = a_row;
        }
      }
      run_(call);
    }
  }

  void RunConverted(const Region& region, std::byte* scratch) const {
    const IndexRange read = ReadRange(p_.rows, region.row_begin, region.row_end);
    const int64_t first = plan_.FirstChannel(region.vector_begin);
    const int64_t channels = plan_.FirstChannel(region.vector_end - 1) + plan_.lanes - first;
    T* const a = reinterpret_cast<T*>(scratch);
    T* const out = reinterpret_cast<T*>(scratch + plan_.read_bytes);
    const int64_t a_row = p_.columns.out * plan_.pixel_channels;
    const int64_t out_row = p_.columns.in * plan_.pixel_channels;
    const int64_t read_rows = std::max<int64_t>(0, read.end - read.begin);
    Fetch(region.image, read.begin, read_rows, first, channels, a);
    RunRows(region, region.vector_begin, region.vector_end, a, a_row, read.begin, out, out_row,
            region.row_begin);
    Deliver(region.image, region.row_begin, region.row_end - region.row_begin, first, channels,
            out);
  }

  // Conversions of planes go through lines of this many elements, several at a time.
  static constexpr int64_t kLine = 256;
  static constexpr int64_t kLines = 16;

  // Rows of out_backprop as [row][column][channel] of the compute type.
  void Fetch(int64_t image, int64_t row, int64_t rows, int64_t first, int64_t channels,
             T* to) const {
    const int64_t pixels = rows * p_.columns.out;
    const int64_t pitch = plan_.pixel_channels;
    if (p_.layout == Layout::kNhwc) {
      const S* from = source_ + (image * p_.rows.out + row) * p_.columns.out * p_.out_channels;
      for (int64_t i = 0; i < pixels; ++i) {
        kernels::Widen(convert_, from + i * p_.out_channels + first, to + i * pitch, channels);
      }
      return;
    }
    const int64_t plane = p_.rows.out * p_.columns.out;
    const S* const from =
        source_ + (image * p_.out_channels + first) * plane + row * p_.columns.out;
    if constexpr (std::is_same_v<S, T>) {
      transpose_(from, plane, to, pitch, channels, pixels);
    } else {
      T lines[kLines * kLine];
      for (int64_t c = 0; c < channels; c += kLines) {
        const int64_t count = std::min(kLines, channels - c);
        for (int64_t i = 0; i < pixels; i += kLine) {
          const int64_t width = std::min(kLine, pixels - i);
          for (int64_t k = 0; k < count; ++k) {
            kernels::Widen(convert_, from + (c + k) * plane + i, lines + k * kLine, width);
          }
          transpose_(lines, kLine, to + i * pitch + c, pitch, count, width);
        }
      }
    }
  }

  // The other way: rows of the result.
  void Deliver(int64_t image, int64_t row, int64_t rows, int64_t first, int64_t channels,
               const T* from) const {
    const int64_t pixels = rows * p_.columns.in;
    const int64_t pitch = plan_.pixel_channels;
    if (p_.layout == Layout::kNhwc) {
      S* const to = result_ + (image * p_.rows.in + row) * p_.columns.in * p_.in_channels;
      for (int64_t i = 0; i < pixels; ++i) {
        kernels::Narrow(convert_, from + i * pitch, to + i * p_.in_channels + first, channels);
      }
      return;
    }
    const int64_t plane = p_.rows.in * p_.columns.in;
    S* const to = result_ + (image * p_.in_channels + first) * plane + row * p_.columns.in;
    if constexpr (std::is_same_v<S, T>) {
      to_planes_(from, pitch, to, plane, pixels, channels);
    } else {
      T lines[kLines * kLine];
      for (int64_t c = 0; c < channels; c += kLines) {
        const int64_t count = std::min(kLines, channels - c);
        for (int64_t i = 0; i < pixels; i += kLine) {
          const int64_t width = std::min(kLine, pixels - i);
          transpose_(from + i * pitch + c, pitch, lines, kLine, width, count);
          for (int64_t k = 0; k < count; ++k) {
            kernels::Narrow(convert_, lines + k * kLine, to + (c + k) * plane + i, width);
          }
        }
      }
    }
  }

  const SmallGroupsPlan& plan_;
  const Problem& p_;
  void (*const run_)(const kernels::GroupRowCall<K, T>&);
  const kernels::ConvertFamily& convert_;
  // The result goes past the caches: only whole lines, so not of half types.
  const bool streams_;
  const kernels::TransposeKernel<T> transpose_;
  const kernels::TransposeKernel<T> to_planes_;  // of the result
  const S* const source_;
  const T* const packed_;
  S* const result_;
  std::byte* const workspace_;
};

}  // namespace

Status SmallGroupsPlan::Run(const void* out_backprop, const void* packed, void* in_backprop,
                            void* workspace, Executor& executor, const Control& control) const {
  return WithElementTypes(problem.dtype, [&](auto storage, auto compute) -> Status {
    using S = decltype(storage);
    using T = decltype(compute);
    if (converts) {
      return Runner<S, T, T>(*this, out_backprop, packed, in_backprop, workspace)
          .Run(executor, control);
    }
    return Runner<S, T, S>(*this, out_backprop, packed, in_backprop, workspace)
        .Run(executor, control);
  });
}

}  // namespace dgrad::small_groups
