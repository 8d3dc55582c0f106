// Data and checks shared by the tests from outside.
#ifndef DGRAD_TESTS_ABI_SUPPORT_H_
#define DGRAD_TESTS_ABI_SUPPORT_H_

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <dgrad/dgrad.hpp>
#include <string>
#include <vector>

namespace dgrad_test {

// Small integers are exact in every type, and so are their sums below 2^24 before the last
// rounding.
template <typename T>
T FromInt(int value) {
  return static_cast<T>(value);
}
template <>
inline dgrad::BFloat16 FromInt(int value) {
  return {
      static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16)};
}
template <>
inline dgrad::Float16 FromInt(int value) {
  if (value == 0) return {0};
  int exponent = 0;  // value = fraction * 2^exponent, 0.5 <= fraction < 1
  const double fraction = std::frexp(std::abs(value), &exponent);
  const int mantissa = static_cast<int>((fraction * 2 - 1) * 1024);
  return {
      static_cast<std::uint16_t>((value < 0 ? 0x8000 : 0) | ((exponent + 14) << 10) | mantissa)};
}

// Equal as numbers of the type: -0 is 0, NaN equals nothing.
template <typename T>
bool SameValue(T a, T b) {
  return a == b;
}
inline bool SameBits16(std::uint16_t a, std::uint16_t b, std::uint16_t infinity) {
  const auto magnitude = [](std::uint16_t bits) {
    return static_cast<std::uint16_t>(bits & 0x7FFF);
  };
  if (magnitude(a) > infinity || magnitude(b) > infinity) return false;
  return a == b || (magnitude(a) == 0 && magnitude(b) == 0);
}
template <>
inline bool SameValue(dgrad::Float16 a, dgrad::Float16 b) {
  return SameBits16(a.bits, b.bits, 0x7C00);
}
template <>
inline bool SameValue(dgrad::BFloat16 a, dgrad::BFloat16 b) {
  return SameBits16(a.bits, b.bits, 0x7F80);
}

// Integers from -4 to 4, the same for the same seed.
template <typename T>
std::vector<T> SmallIntegers(std::uint64_t count, std::uint64_t seed) {
  std::vector<T> values(count);
  std::uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
  for (T& value : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    value = FromInt<T>(static_cast<int>((state >> 33) % 9) - 4);
  }
  return values;
}

// A tensor whose neighbours are watched: `count` elements of NaN (of -1 in int32) between guards.
template <typename T>
class Guarded {
 public:
  explicit Guarded(std::uint64_t count) : count_(count), storage_(count + 2 * kGuard) {
    std::memset(storage_.data(), 0xFF, storage_.size() * sizeof(T));
    for (std::uint64_t i = 0; i < kGuard; ++i) {
      std::memset(&storage_[i], kMark, sizeof(T));
      std::memset(&storage_[kGuard + count + i], kMark, sizeof(T));
    }
  }

  std::span<T> tensor() { return std::span(storage_).subspan(kGuard, count_); }

  bool GuardsIntact() const {
    T mark;
    std::memset(&mark, kMark, sizeof(T));
    for (std::uint64_t i = 0; i < kGuard; ++i) {
      if (std::memcmp(&storage_[i], &mark, sizeof(T)) != 0) return false;
      if (std::memcmp(&storage_[kGuard + count_ + i], &mark, sizeof(T)) != 0) return false;
    }
    return true;
  }

 private:
  static constexpr std::uint64_t kGuard = 16;
  static constexpr int kMark = 0x5A;

  std::uint64_t count_;
  std::vector<T> storage_;
};

// Every element, or the first that differs.
template <typename T>
testing::AssertionResult SameTensor(std::span<const T> given, std::span<const T> expected) {
  if (given.size() != expected.size()) {
    return testing::AssertionFailure() << given.size() << " elements, not " << expected.size();
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!SameValue(given[i], expected[i])) {
      return testing::AssertionFailure()
             << "element " << i << " is " << testing::PrintToString(given[i]) << ", not "
             << testing::PrintToString(expected[i]);
    }
  }
  return testing::AssertionSuccess();
}

// A status and words that the message must have.
#define EXPECT_STATUS(call, status, ...)                                                    \
  do {                                                                                      \
    const dgrad_status status_ = (call);                                                    \
    const std::string text_ = dgrad_last_error();                                           \
    EXPECT_EQ(status_, status) << text_;                                                    \
    for (const std::string& word_ : std::vector<std::string>{__VA_ARGS__}) {                \
      EXPECT_NE(text_.find(word_), std::string::npos) << "'" << word_ << "' in: " << text_; \
    }                                                                                       \
  } while (false)
#define EXPECT_INVALID(call, ...) EXPECT_STATUS(call, DGRAD_INVALID_ARGUMENT, __VA_ARGS__)

// A legal call: input [1, 4, 5, 2], filter [3, 2, 2, 3], out_backprop [1, 2, 4, 3], float32. Tests
// change one thing and look at the error.
struct BaseArguments {
  std::int64_t input_sizes[4] = {1, 4, 5, 2};
  std::int64_t filter_shape[4] = {3, 2, 2, 3};
  std::int64_t out_backprop_shape[4] = {1, 2, 4, 3};
  std::int64_t strides[4] = {1, 1, 1, 1};
  std::int64_t dilations[4] = {1, 1, 1, 1};
  std::int64_t explicit_paddings[8] = {};
  dgrad_arguments c = {};

  static constexpr std::uint64_t kInBackpropBytes = 40 * 4;
  static constexpr std::uint64_t kFilterBytes = 36 * 4;
  static constexpr std::uint64_t kOutBackpropBytes = 24 * 4;

  BaseArguments() {
    c.struct_size = sizeof(c);
    c.input_sizes = input_sizes;
    c.input_sizes_count = 4;
    c.filter_shape = filter_shape;
    c.filter_rank = 4;
    c.out_backprop_shape = out_backprop_shape;
    c.out_backprop_rank = 4;
    c.strides = strides;
    c.strides_count = 4;
    c.dilations = dilations;
    c.dilations_count = 4;
    c.padding = DGRAD_VALID;
    c.data_format = DGRAD_NHWC;
    c.dtype = DGRAD_FLOAT32;
  }
  BaseArguments(const BaseArguments&) = delete;
  BaseArguments& operator=(const BaseArguments&) = delete;
};

}  // namespace dgrad_test

#endif  // DGRAD_TESTS_ABI_SUPPORT_H_
