// Compares results with the library's reference: all elements of a small problem, and whole
// channels of single images, spread over all of them, of a large one.
#ifndef DGRAD_CLI_ORACLE_H_
#define DGRAD_CLI_ORACLE_H_

#include <cstddef>
#include <cstdint>
#include <dgrad/dgrad.hpp>
#include <span>
#include <string>
#include <vector>

#include "values.h"

namespace dgrad::cli {

// The operands of a problem with random elements. Throws a Failure if the machine can't hold them
// and the results beside them.
struct Operands {
  explicit Operands(const Problem& problem);
  Buffer filter, out_backprop;
};

class Oracle {
 public:
  // Computes what to expect, with at most about `limit` multiply-adds (at least one channel).
  Oracle(const Problem& problem, const Operands& operands, double limit);

  // Empty, or which element of in_backprop is wrong. direct: the algorithm adds the products
  // themselves (it serves the strict tier); then the bound of an element is that of a sum,
  // 8 * 2^-24 * S with S the sum of the products' magnitudes, and one rounding of a half type.
  // Else S is the largest of the problem, as transforms mix pixels. int32 is exact.
  std::string Compare(std::span<const std::byte> in_backprop, bool direct) const;

  // The share of the elements that Compare looks at.
  double share() const { return share_; }

 private:
  // A run of channels of one image, all in one group.
  struct Slice {
    int64_t image, channel, channels;
    Buffer wanted;      // [H, W, channels], float64 or int32
    Buffer magnitudes;  // the same of |filter| and |out_backprop|
  };
  void Choose(double limit);
  void Compute(const Operands& operands, Slice* slice);

  const Problem& problem_;
  int64_t images_, height_, width_, channels_, group_channels_;
  std::vector<Slice> slices_;
  double largest_ = 0;  // magnitude
  double share_ = 1;
};

}  // namespace dgrad::cli

#endif  // DGRAD_CLI_ORACLE_H_
