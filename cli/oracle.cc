#include "oracle.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "text.h"

namespace dgrad::cli {
namespace {

// Most slices of a problem that is too large for a full comparison.
constexpr int64_t kMostSlices = 64;

// Index of an element of an activation tensor in either layout.
struct Place {
  bool nhwc;
  int64_t height, width, channels;

  uint64_t operator()(int64_t n, int64_t h, int64_t w, int64_t c) const {
    return static_cast<uint64_t>(nhwc ? ((n * height + h) * width + w) * channels + c
                                      : ((n * channels + c) * height + h) * width + w);
  }
};

Place PlaceOf(const Problem& problem, const std::array<int64_t, 4>& shape) {
  const bool nhwc = problem.data_format() == DataFormat::kNhwc;
  return nhwc ? Place{true, shape[1], shape[2], shape[3]}
              : Place{false, shape[2], shape[3], shape[1]};
}

// Elements as the reference takes them: int32 stays, all others become doubles.
void Convert(Dtype dtype, std::span<const std::byte> from, uint64_t index, Buffer* to,
             uint64_t to_index) {
  if (dtype == Dtype::kInt32) {
    std::memcpy(to->data() + 4 * to_index, from.data() + 4 * index, 4);
  } else {
    const double value = Load(dtype, from, index);
    std::memcpy(to->data() + 8 * to_index, &value, 8);
  }
}

Buffer Magnitudes(const Buffer& from) {
  Buffer to(from.size());
  for (uint64_t i = 0; i < from.size() / 8; ++i) {
    const double value = std::abs(Load(Dtype::kFloat64, from.bytes(), i));
    std::memcpy(to.data() + 8 * i, &value, 8);
  }
  return to;
}

// Half an ulp of 1, of the type's own rounding and of the sums'.
double Rounding(Dtype dtype) {
  if (dtype == Dtype::kFloat16) return 0x1p-11;
  return dtype == Dtype::kBFloat16 ? 0x1p-8 : 0;
}
double SumRounding(Dtype dtype) { return dtype == Dtype::kFloat64 ? 0x1p-53 : 0x1p-24; }

// Below these, results may be flushed to zero.
double SmallestNormal(Dtype dtype) {
  if (dtype == Dtype::kFloat16) return 0x1p-14;
  return dtype == Dtype::kFloat64 ? 0x1p-1022 : 0x1p-126;
}

}  // namespace

Operands::Operands(const Problem& problem) {
  const dgrad_problem_info& info = problem.info();
  CheckMemory(static_cast<double>(info.filter_bytes) +
                  static_cast<double>(info.out_backprop_bytes) +
                  2 * static_cast<double>(info.in_backprop_bytes),
              problem.to_string());
  filter.Resize(info.filter_bytes);
  out_backprop.Resize(info.out_backprop_bytes);
  Fill(problem.dtype(), 1, filter.bytes());
  Fill(problem.dtype(), 2, out_backprop.bytes());
}

Oracle::Oracle(const Problem& problem, const Operands& operands, double limit)
    : problem_(problem),
      images_(problem.in_backprop_shape()[0]),
      height_(0),
      width_(0),
      channels_(0),
      group_channels_(problem.filter_shape()[2]) {
  const Place place = PlaceOf(problem, problem.in_backprop_shape());
  height_ = place.height;
  width_ = place.width;
  channels_ = place.channels;
  Choose(limit);
  for (Slice& slice : slices_) Compute(operands, &slice);
}

void Oracle::Choose(double limit) {
  if (problem_.info().in_backprop_bytes == 0) return;
  const double work = problem_.info().multiply_adds;
  if (work <= limit) {
    for (int64_t n = 0; n < images_; ++n) {
      for (int64_t c = 0; c < channels_; c += group_channels_) {
        slices_.push_back({n, c, group_channels_, {}, {}});
      }
    }
    return;
  }
  // Single channels, evenly spread over the images and channels, the first and the last included.
  const double all = static_cast<double>(images_) * static_cast<double>(channels_);
  const double affordable = std::min(limit * all / work, static_cast<double>(kMostSlices));
  const auto count = static_cast<int64_t>(std::clamp(affordable, 1.0, all));
  for (int64_t i = 0; i < count; ++i) {
    const double step = count == 1 ? 0.5 : static_cast<double>(i) / static_cast<double>(count - 1);
    const auto index = static_cast<int64_t>(step * (all - 1));
    slices_.push_back({index / channels_, index % channels_, 1, {}, {}});
  }
  share_ = static_cast<double>(count) / all;
}

void Oracle::Compute(const Operands& operands, Slice* slice) {
  const dgrad_problem_info& info = problem_.info();
  const bool exact = problem_.dtype() == Dtype::kInt32;
  const uint64_t bytes = exact ? 4 : 8;
  const auto elements = static_cast<uint64_t>(height_ * width_ * slice->channels);
  slice->wanted.Resize(elements * bytes);
  if (!exact) slice->magnitudes.Resize(elements * bytes);
  if (info.filter_bytes == 0 || info.out_backprop_bytes == 0) {
    std::memset(slice->wanted.data(), 0, slice->wanted.size());
    if (!exact) std::memset(slice->magnitudes.data(), 0, slice->magnitudes.size());
    return;
  }

  const Place from = PlaceOf(problem_, problem_.out_backprop_shape());
  const int64_t group = slice->channel / group_channels_;
  const int64_t terms = from.channels / info.groups;
  const std::array<int64_t, 4> taps = problem_.filter_shape();
  Buffer filter(static_cast<uint64_t>(taps[0] * taps[1] * slice->channels * terms) * bytes);
  uint64_t at = 0;
  for (int64_t tap = 0; tap < taps[0] * taps[1]; ++tap) {
    for (int64_t c = 0; c < slice->channels; ++c) {
      const int64_t row = tap * group_channels_ + slice->channel % group_channels_ + c;
      for (int64_t oc = 0; oc < terms; ++oc) {
        Convert(problem_.dtype(), operands.filter.bytes(),
                static_cast<uint64_t>(row * from.channels + group * terms + oc), &filter, at++);
      }
    }
  }
  Buffer out_backprop(static_cast<uint64_t>(from.height * from.width * terms) * bytes);
  at = 0;
  for (int64_t h = 0; h < from.height; ++h) {
    for (int64_t w = 0; w < from.width; ++w) {
      for (int64_t oc = 0; oc < terms; ++oc) {
        Convert(problem_.dtype(), operands.out_backprop.bytes(),
                from(slice->image, h, w, group * terms + oc), &out_backprop, at++);
      }
    }
  }

  const Problem part(Arguments{.input_sizes = {1, height_, width_, slice->channels},
                               .filter_shape = {taps[0], taps[1], slice->channels, terms},
                               .strides = {1, info.strides[0], info.strides[1], 1},
                               .dilations = {1, info.dilations[0], info.dilations[1], 1},
                               .padding = Padding::kExplicit,
                               .explicit_paddings = {0, 0, info.paddings[0], info.paddings[1],
                                                     info.paddings[2], info.paddings[3], 0, 0},
                               .dtype = exact ? Dtype::kInt32 : Dtype::kFloat64});
  const auto reference = [&part](const Buffer& f, const Buffer& o, Buffer* to) {
    cpp::check(dgrad_reference(part.c_handle(), f.data(), f.size(), o.data(), o.size(), to->data(),
                               to->size()));
  };
  reference(filter, out_backprop, &slice->wanted);
  if (exact) return;
  reference(Magnitudes(filter), Magnitudes(out_backprop), &slice->magnitudes);
  for (uint64_t i = 0; i < elements; ++i) {
    largest_ = std::max(largest_, Load(Dtype::kFloat64, slice->magnitudes.bytes(), i));
  }
}

std::string Oracle::Compare(std::span<const std::byte> in_backprop, bool direct) const {
  const Dtype dtype = problem_.dtype();
  const bool exact = dtype == Dtype::kInt32;
  const Place place = PlaceOf(problem_, problem_.in_backprop_shape());
  for (const Slice& slice : slices_) {
    uint64_t at = 0;
    for (int64_t h = 0; h < height_; ++h) {
      for (int64_t w = 0; w < width_; ++w) {
        for (int64_t c = 0; c < slice.channels; ++c, ++at) {
          const double got = Load(dtype, in_backprop, place(slice.image, h, w, slice.channel + c));
          const double want = Load(exact ? dtype : Dtype::kFloat64, slice.wanted.bytes(), at);
          double bound = 0;
          if (!exact) {
            const double magnitude =
                direct ? Load(Dtype::kFloat64, slice.magnitudes.bytes(), at) : largest_;
            bound = 8 * SumRounding(dtype) * magnitude + 2 * Rounding(dtype) * std::abs(want) +
                    SmallestNormal(dtype);
          }
          if (std::abs(got - want) <= bound) continue;  // false for NaN
          return "in_backprop[n=" + std::to_string(slice.image) + ", h=" + std::to_string(h) +
                 ", w=" + std::to_string(w) + ", c=" + std::to_string(slice.channel + c) +
                 Format("] is %.9g, expected %.9g within %.3g", got, want, bound);
        }
      }
    }
  }
  return "";
}

}  // namespace dgrad::cli
