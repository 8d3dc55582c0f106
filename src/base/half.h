// Exact conversions between the half types and float or double, by integer arithmetic alone:
// results do not depend on the rounding mode, flush-to-zero or the compiler, and all work in
// constant expressions.
//
// To a half type: one rounding, to nearest, ties to even; too large becomes Inf, subnormals are
// kept, NaN stays NaN with its sign and leading payload bits and becomes quiet. To float: exact
// (NaN becomes quiet).
#ifndef DGRAD_BASE_HALF_H_
#define DGRAD_BASE_HALF_H_

#include <bit>
#include <cstdint>
#include <limits>

#include "src/base/dtype.h"

namespace dgrad {
namespace half_internal {

static_assert(std::numeric_limits<float>::is_iec559 && std::numeric_limits<double>::is_iec559);

// Encodings of IEEE style: 1 sign bit, exponent bits, fraction bits (the leading 1 is implied).
template <int kExponent, int kFraction>
struct Format {
  static constexpr int kExponentBits = kExponent;
  static constexpr int kFractionBits = kFraction;
  static constexpr int kBits = 1 + kExponent + kFraction;
  static constexpr int kBias = (1 << (kExponent - 1)) - 1;
  static constexpr int kMaxField = (1 << kExponent) - 1;  // Inf and NaN
  static constexpr uint64_t kOne = uint64_t{1};
  static constexpr uint64_t kFractionMask = (kOne << kFraction) - 1;
  static constexpr uint64_t kInf = static_cast<uint64_t>(kMaxField) << kFraction;
  static constexpr uint64_t kQuiet = kOne << (kFraction - 1);
};
using F16 = Format<5, 10>;
using BF16 = Format<8, 7>;
using F32 = Format<8, 23>;
using F64 = Format<11, 52>;

// Rounds the number encoded by `bits` in format From to the narrower format To.
template <typename To, typename From>
constexpr uint64_t Narrow(uint64_t bits) {
  constexpr int kDrop = From::kFractionBits - To::kFractionBits;
  const uint64_t sign = (bits >> (From::kBits - 1)) << (To::kBits - 1);
  const int field = static_cast<int>(bits >> From::kFractionBits) & From::kMaxField;
  const uint64_t fraction = bits & From::kFractionMask;
  if (field == From::kMaxField) {
    return fraction == 0 ? sign | To::kInf : sign | To::kInf | To::kQuiet | (fraction >> kDrop);
  }
  // The magnitude is significand * 2^(exponent - From::kFractionBits).
  const int exponent = (field == 0 ? 1 : field) - From::kBias;
  const uint64_t significand =
      field == 0 ? fraction : fraction | (From::kOne << From::kFractionBits);
  if (exponent > To::kBias) return sign | To::kInf;
  // Below the smallest normal exponent the last kept bit stays where it is: subnormals.
  constexpr int kMinExponent = 1 - To::kBias;
  const int kept_exponent = exponent < kMinExponent ? kMinExponent : exponent;
  const int shift = kDrop + (kept_exponent - exponent);
  if (shift >= 64) return sign;  // far below half of the smallest subnormal
  const uint64_t half = From::kOne << (shift - 1);
  const uint64_t rest = significand & ((half << 1) - 1);
  uint64_t kept = significand >> shift;
  if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
  // Adding instead of or-ing lets the leading 1, and a carry out of rounding (up to Inf), count up
  // the exponent field.
  return sign | (kept + (static_cast<uint64_t>(kept_exponent - kMinExponent) << To::kFractionBits));
}

// Re-encodes the number encoded by `bits` in format From in the wider format To, exactly.
template <typename To, typename From>
constexpr uint64_t Widen(uint64_t bits) {
  constexpr int kGrow = To::kFractionBits - From::kFractionBits;
  const uint64_t sign = (bits >> (From::kBits - 1)) << (To::kBits - 1);
  int field = static_cast<int>(bits >> From::kFractionBits) & From::kMaxField;
  uint64_t fraction = bits & From::kFractionMask;
  if (field == From::kMaxField) {
    return sign | To::kInf | (fraction == 0 ? 0 : To::kQuiet | (fraction << kGrow));
  }
  if (field == 0) {
    if (fraction == 0) return sign;
    if constexpr (To::kExponentBits == From::kExponentBits) return sign | (fraction << kGrow);
    field = 1;  // a subnormal of From is a normal number of To
    while ((fraction & (From::kOne << From::kFractionBits)) == 0) {
      fraction <<= 1;
      --field;
    }
    fraction &= From::kFractionMask;
  }
  const int exponent = field - From::kBias + To::kBias;
  return sign | (static_cast<uint64_t>(exponent) << To::kFractionBits) | (fraction << kGrow);
}

}  // namespace half_internal

constexpr float ToFloat(Float16 value) {
  using namespace half_internal;
  return std::bit_cast<float>(static_cast<uint32_t>(Widen<F32, F16>(value.bits)));
}
constexpr float ToFloat(BFloat16 value) {
  using namespace half_internal;
  return std::bit_cast<float>(static_cast<uint32_t>(Widen<F32, BF16>(value.bits)));
}

constexpr Float16 ToFloat16(float value) {
  using namespace half_internal;
  return {static_cast<uint16_t>(Narrow<F16, F32>(std::bit_cast<uint32_t>(value)))};
}
constexpr Float16 ToFloat16(double value) {
  using namespace half_internal;
  return {static_cast<uint16_t>(Narrow<F16, F64>(std::bit_cast<uint64_t>(value)))};
}
constexpr BFloat16 ToBFloat16(float value) {
  using namespace half_internal;
  return {static_cast<uint16_t>(Narrow<BF16, F32>(std::bit_cast<uint32_t>(value)))};
}
constexpr BFloat16 ToBFloat16(double value) {
  using namespace half_internal;
  return {static_cast<uint16_t>(Narrow<BF16, F64>(std::bit_cast<uint64_t>(value)))};
}

}  // namespace dgrad

#endif  // DGRAD_BASE_HALF_H_
