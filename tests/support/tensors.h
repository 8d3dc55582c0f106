// Test data: tensors of any element type with guard bytes around them, filled from a seed.
#ifndef DGRAD_TESTS_SUPPORT_TENSORS_H_
#define DGRAD_TESTS_SUPPORT_TENSORS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "src/base/dtype.h"

namespace dgrad::testing {

enum class Fill {
  kIntegers,  // -3 .. 3: sums stay exact in every type while they are short (float16: below 2^11)
  kReal,      // uniform in (-1, 1), rounded to the type
};

// A buffer between guard bytes, aligned to its elements only (an odd multiple of the element size
// after a 64-byte boundary).
class Tensor {
 public:
  Tensor(DType dtype, int64_t elements);

  void* data() { return storage_.data() + offset_; }
  const void* data() const { return storage_.data() + offset_; }
  int64_t elements() const { return elements_; }
  int64_t bytes() const { return elements_ * SizeOf(dtype_); }
  DType dtype() const { return dtype_; }

  void FillFrom(uint64_t seed, Fill fill);
  void Poison();                      // every element NaN (int32: 0x7F5A5A5A)
  double At(int64_t i) const;         // as a number
  void Set(int64_t i, double value);  // rounded to the type
  bool GuardsIntact() const;
  bool SameBits(const Tensor& other) const;

 private:
  DType dtype_;
  int64_t elements_;
  size_t offset_ = 0;
  std::vector<std::byte> storage_;
};

// SplitMix64: the i-th number of a seed.
uint64_t Random(uint64_t seed, uint64_t i);

}  // namespace dgrad::testing

#endif  // DGRAD_TESTS_SUPPORT_TENSORS_H_
