#include "src/algorithms/tensor_mover.h"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <vector>

#include "src/base/half.h"
#include "tests/support/check.h"

namespace dgrad::testing {
namespace {

float Number(Float16 value) { return ToFloat(value); }
float Number(BFloat16 value) { return ToFloat(value); }
template <typename T>
T Number(T value) {
  return value;
}

// Values that every type holds exactly, different from their neighbours.
template <typename S>
S Value(int64_t i) {
  const auto number = static_cast<float>(i % 251);
  if constexpr (std::is_same_v<S, Float16>) {
    return ToFloat16(number);
  } else if constexpr (std::is_same_v<S, BFloat16>) {
    return ToBFloat16(number);
  } else {
    return static_cast<S>(number);
  }
}

// Where a tensor has a pixel's channel.
int64_t At(const Problem& p, const Axis& rows, const Axis& columns, bool in, int64_t channels,
           int64_t n, int64_t h, int64_t w, int64_t c) {
  const int64_t height = in ? rows.in : rows.out;
  const int64_t width = in ? columns.in : columns.out;
  return p.layout == Layout::kNhwc ? ((n * height + h) * width + w) * channels + c
                                   : ((n * channels + c) * height + h) * width + w;
}

// And scratch, of the channels [first, last).
int64_t ScratchChannel(int64_t groups, bool interleave, int64_t channels, int64_t c) {
  const int64_t size = channels / groups;
  return interleave ? c % size * groups + c / size : c;
}

std::vector<PixelBox> Boxes(int64_t height, int64_t width) {
  return {{1, 0, height, 0, width}, {0, 1, height - 1, 0, width}, {1, 2, 3, 1, width - 1}};
}

template <typename S, typename T>
void CheckMoves(const std::string& text, bool interleave) {
  const Problem p = Parse(text);
  std::vector<S> from(static_cast<size_t>(p.out_backprop_elements()));
  for (size_t i = 0; i < from.size(); ++i) from[i] = Value<S>(static_cast<int64_t>(i));
  for (const Isa isa : UsableIsas()) {
    SCOPED_TRACE(text + " " + Name(isa));
    const TensorMover<S, T> mover(p, isa, interleave, interleave);
    for (const PixelBox& box : Boxes(p.rows.out, p.columns.out)) {
      // Pixels of scratch follow each other in the first box, else there is something between them.
      const int64_t between = box.row_begin == 0 ? 0 : 5;
      const int64_t pitch = p.out_channels + between;
      std::vector<T> to(static_cast<size_t>(box.rows() * box.columns() * pitch), T(-1));
      mover.Convert(from.data(), box, to.data(), pitch);
      size_t i = 0;
      for (int64_t h = box.row_begin; h < box.row_end; ++h) {
        for (int64_t w = box.column_begin; w < box.column_end; ++w, i += pitch) {
          for (int64_t k = 0; k < between; ++k) ASSERT_EQ(to[i + p.out_channels + k], T(-1));
          for (int64_t c = 0; c < p.out_channels; ++c) {
            const int64_t place = ScratchChannel(p.groups, interleave, p.out_channels, c);
            ASSERT_EQ(
                to[i + place],
                Number(from[At(p, p.rows, p.columns, false, p.out_channels, box.image, h, w, c)]))
                << h << " " << w << " " << c;
          }
        }
      }
    }
    for (const PixelBox& box : Boxes(p.rows.in, p.columns.in)) {
      const int64_t first = interleave ? 0 : 2;
      const int64_t last = interleave ? p.in_channels : p.in_channels - 1;
      const int64_t depth = last - first;
      std::vector<T> scratch(static_cast<size_t>(box.rows() * box.columns() * depth));
      for (size_t i = 0; i < scratch.size(); ++i) scratch[i] = static_cast<T>(i % 251);
      std::vector<S> to(static_cast<size_t>(p.in_backprop_elements()), Value<S>(250));
      std::vector<S> want = to;
      mover.Unstage(scratch.data(), box, first, last, to.data());
      size_t i = 0;
      for (int64_t h = box.row_begin; h < box.row_end; ++h) {
        for (int64_t w = box.column_begin; w < box.column_end; ++w, i += depth) {
          for (int64_t c = first; c < last; ++c) {
            const int64_t place =
                interleave ? ScratchChannel(p.groups, true, p.in_channels, c) : c - first;
            want[At(p, p.rows, p.columns, true, p.in_channels, box.image, h, w, c)] =
                Value<S>(static_cast<int64_t>(i) + place);
          }
        }
      }
      for (size_t k = 0; k < to.size(); ++k) ASSERT_EQ(Number(to[k]), Number(want[k])) << k;
    }
  }
}

TEST(TensorMoverTest, MovesWhatTheLayoutSays) {
  for (const char* layout : {"nhwc", "nchw"}) {
    for (const char* geometry : {"n2_h5w9c21_k3x3_oc35_p1,1,1,1", "n2_h4w20c6_k1x1_oc17",
                                 "n2_h7w37c40_k1x3_oc64_p0,0,1,1", "n2_h9w33c32_k1x1_oc3"}) {
      const std::string text = std::string(geometry) + "_" + layout;
      CheckMoves<float, float>(text, false);
      CheckMoves<double, double>(text + "_f64", false);
      CheckMoves<int32_t, int32_t>(text + "_i32", false);
      CheckMoves<Float16, float>(text + "_f16", false);
      CheckMoves<BFloat16, float>(text + "_bf16", false);
    }
  }
}

TEST(TensorMoverTest, Interleaves) {
  for (const char* layout : {"nhwc", "nchw"}) {
    for (const char* geometry : {"n2_h4w5c24_k1x1_oc40_g8", "n2_h5w18c160_k1x1_oc96_g32",
                                 "n2_h4w5c8202_k1x1_oc8200_g2", "n2_h4w5c19_k1x1_oc38_g19"}) {
      const std::string text = std::string(geometry) + "_" + layout;
      CheckMoves<float, float>(text, true);
      CheckMoves<double, double>(text + "_f64", true);
      CheckMoves<BFloat16, float>(text + "_bf16", true);
    }
  }
}

}  // namespace
}  // namespace dgrad::testing
