// Scratch memory of runs, kept for the next run.
#ifndef DGRAD_PLAN_SCRATCH_POOL_H_
#define DGRAD_PLAN_SCRATCH_POOL_H_

#include <cstdint>

#include "src/base/aligned_buffer.h"
#include "src/base/status.h"

namespace dgrad {

// Memory on loan; returns to the pool when it goes out of scope.
class Scratch {
 public:
  Scratch() = default;
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // At least `bytes`, 64-byte aligned, contents unspecified.
  Status Borrow(int64_t bytes);
  void* data() { return buffer_.data(); }

 private:
  AlignedBuffer buffer_;
};

// Frees what nobody uses.
void TrimScratchPool();

}  // namespace dgrad

#endif  // DGRAD_PLAN_SCRATCH_POOL_H_
