#include "tests/support/tensors.h"

#include <cstring>
#include <limits>

#include "src/base/half.h"

namespace dgrad::testing {
namespace {

constexpr size_t kGuard = 256;
constexpr std::byte kGuardByte{0xC3};

}  // namespace

uint64_t Random(uint64_t seed, uint64_t i) {
  uint64_t z = seed + (i + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

Tensor::Tensor(DType dtype, int64_t elements) : dtype_(dtype), elements_(elements) {
  const size_t payload = static_cast<size_t>(bytes());
  storage_.assign(payload + 2 * kGuard + 64, kGuardByte);
  const auto address = reinterpret_cast<uintptr_t>(storage_.data() + kGuard);
  offset_ = kGuard + (-address & 63) + static_cast<size_t>(SizeOf(dtype));
}

void Tensor::FillFrom(uint64_t seed, Fill fill) {
  for (int64_t i = 0; i < elements_; ++i) {
    const uint64_t z = Random(seed, static_cast<uint64_t>(i));
    if (fill == Fill::kIntegers) {
      Set(i, static_cast<double>((z >> 40) % 7) - 3);
    } else if (dtype_ == DType::kI32) {
      Set(i, static_cast<double>(static_cast<int32_t>(z >> 32)));
    } else {
      Set(i, static_cast<double>(z >> 11) * 0x1p-52 - 1);
    }
  }
}

void Tensor::Poison() {
  for (int64_t i = 0; i < elements_; ++i) {
    Set(i, dtype_ == DType::kI32 ? 0x7F5A5A5A : std::numeric_limits<double>::quiet_NaN());
  }
}

double Tensor::At(int64_t i) const {
  const std::byte* const from = static_cast<const std::byte*>(data()) + i * SizeOf(dtype_);
  const auto load = [&](auto value) {
    std::memcpy(&value, from, sizeof(value));
    return value;
  };
  switch (dtype_) {
    case DType::kF16:
      return ToFloat(load(Float16{}));
    case DType::kBF16:
      return ToFloat(load(BFloat16{}));
    case DType::kF32:
      return load(float{});
    case DType::kF64:
      return load(double{});
    case DType::kI32:
      return load(int32_t{});
  }
  return 0;
}

void Tensor::Set(int64_t i, double value) {
  std::byte* const to = static_cast<std::byte*>(data()) + i * SizeOf(dtype_);
  const auto store = [&](auto rounded) { std::memcpy(to, &rounded, sizeof(rounded)); };
  switch (dtype_) {
    case DType::kF16:
      return store(ToFloat16(value));
    case DType::kBF16:
      return store(ToBFloat16(value));
    case DType::kF32:
      return store(static_cast<float>(value));
    case DType::kF64:
      return store(value);
    case DType::kI32:
      return store(static_cast<int32_t>(value));
  }
}

bool Tensor::GuardsIntact() const {
  for (size_t i = 0; i < storage_.size(); ++i) {
    if (i == offset_) i += static_cast<size_t>(bytes());
    if (i < storage_.size() && storage_[i] != kGuardByte) return false;
  }
  return true;
}

bool Tensor::SameBits(const Tensor& other) const {
  return bytes() == other.bytes() &&
         std::memcmp(data(), other.data(), static_cast<size_t>(bytes())) == 0;
}

}  // namespace dgrad::testing
