// Elements of the five types: names, bits and doubles.
#ifndef DGRAD_CLI_VALUES_H_
#define DGRAD_CLI_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <dgrad/dgrad.hpp>
#include <memory>
#include <span>
#include <string>

namespace dgrad::cli {

// Memory that is not set to anything.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(uint64_t bytes) { Resize(bytes); }

  // Keeps what fits. Throws std::bad_alloc.
  void Resize(uint64_t bytes);

  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  uint64_t size() const { return size_; }
  std::span<std::byte> bytes() { return {data(), size_}; }
  std::span<const std::byte> bytes() const { return {data(), size_}; }

 private:
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };
  std::unique_ptr<std::byte, Free> data_;
  size_t size_ = 0;
};

// Throws a Failure if the machine has not that much memory, before anything is touched. `what` is
// named in it.
void CheckMemory(double bytes, const std::string& what);

// "float32"; the names that --dtype takes.
std::string NameOf(Dtype dtype);
inline constexpr Dtype kDtypes[] = {Dtype::kFloat16, Dtype::kBFloat16, Dtype::kFloat32,
                                    Dtype::kFloat64, Dtype::kInt32};
uint64_t SizeOf(Dtype dtype);

double Load(Dtype dtype, std::span<const std::byte> from, uint64_t index);

// Fills with numbers in [-1, 1) of few bits for the half types and of all bits for the others,
// int32 with any. The same seed gives the same numbers on every machine.
void Fill(Dtype dtype, uint64_t seed, std::span<std::byte> to);

}  // namespace dgrad::cli

#endif  // DGRAD_CLI_VALUES_H_
