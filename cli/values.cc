#include "values.h"

#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>

#include "error.h"
#include "text.h"

namespace dgrad::cli {
namespace {

template <typename T>
T Read(std::span<const std::byte> from, uint64_t index) {
  T value;
  std::memcpy(&value, from.data() + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void Store(std::span<std::byte> to, uint64_t index, T value) {
  std::memcpy(to.data() + index * sizeof(T), &value, sizeof(T));
}

double FromHalf(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  double value = std::ldexp(1024 + fraction, exponent - 25);
  if (exponent == 0) value = std::ldexp(fraction, -24);
  if (exponent == 31) {
    value = fraction == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

// The float16 of k / 1024, -1024 <= k < 1024, which is exact.
uint16_t HalfOf(int k) {
  if (k == 0) return 0;
  const int sign = k < 0 ? 0x8000 : 0;
  const auto magnitude = static_cast<unsigned>(std::abs(k));
  const int top = std::bit_width(magnitude) - 1;  // the value is 1.fraction * 2^(top - 10)
  const int fraction = static_cast<int>(magnitude << (10 - top)) & 1023;
  return static_cast<uint16_t>(sign | (top + 5) << 10 | fraction);
}

uint64_t Next(uint64_t* state) {  // splitmix64
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

}  // namespace

void Buffer::Resize(uint64_t bytes) {
  if (bytes > std::numeric_limits<size_t>::max() / 2) throw std::bad_alloc();
  void* data = std::realloc(data_.get(), bytes == 0 ? 1 : bytes);
  if (data == nullptr) throw std::bad_alloc();
  static_cast<void>(data_.release());
  data_.reset(static_cast<std::byte*>(data));
  size_ = bytes;
}

void CheckMemory(double bytes, const std::string& what) {
  const double pages = static_cast<double>(::sysconf(_SC_PHYS_PAGES));
  const double memory = pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
  if (memory > 0 && bytes > memory) {
    throw Failure(Format("%s needs %.4g GB of memory; this machine has %.4g GB", what.c_str(),
                         bytes / 1e9, memory / 1e9));
  }
}

std::string NameOf(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat16:
      return "float16";
    case Dtype::kBFloat16:
      return "bfloat16";
    case Dtype::kFloat32:
      return "float32";
    case Dtype::kFloat64:
      return "float64";
    case Dtype::kInt32:
      return "int32";
  }
  return "unknown";
}

uint64_t SizeOf(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat16:
    case Dtype::kBFloat16:
      return 2;
    case Dtype::kFloat64:
      return 8;
    default:
      return 4;
  }
}

double Load(Dtype dtype, std::span<const std::byte> from, uint64_t index) {
  switch (dtype) {
    case Dtype::kFloat16:
      return FromHalf(Read<uint16_t>(from, index));
    case Dtype::kBFloat16:
      return double{std::bit_cast<float>(uint32_t{Read<uint16_t>(from, index)} << 16)};
    case Dtype::kFloat32:
      return double{Read<float>(from, index)};
    case Dtype::kFloat64:
      return Read<double>(from, index);
    case Dtype::kInt32:
      break;
  }
  return Read<int32_t>(from, index);
}

void Fill(Dtype dtype, uint64_t seed, std::span<std::byte> to) {
  const uint64_t count = to.size() / SizeOf(dtype);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t random = Next(&seed);
    switch (dtype) {
      case Dtype::kFloat16:
        Store(to, i, HalfOf(static_cast<int>(random >> 53) - 1024));
        break;
      case Dtype::kBFloat16: {
        const float value = static_cast<float>(static_cast<int>(random >> 56) - 128) / 128;
        Store(to, i, static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16));
        break;
      }
      case Dtype::kFloat32:
        Store(to, i, static_cast<float>(random >> 40) * 0x1p-23f - 1);
        break;
      case Dtype::kFloat64:
        Store(to, i, static_cast<double>(random >> 11) * 0x1p-52 - 1);
        break;
      case Dtype::kInt32:
        Store(to, i, static_cast<int32_t>(random >> 32));
        break;
    }
  }
}

}  // namespace dgrad::cli
