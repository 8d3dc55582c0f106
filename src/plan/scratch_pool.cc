#include "src/plan/scratch_pool.h"

#include <array>
#include <utility>

#include "src/plan/try_lock.h"

namespace dgrad {
namespace {

constexpr int kSlots = 8;                         // buffers kept
constexpr int64_t kLargest = int64_t{256} << 20;  // bytes of one kept buffer
constexpr int64_t kTotal = int64_t{512} << 20;    // bytes kept in all

struct Pool {
  TryLock lock;
  std::array<AlignedBuffer, kSlots> kept;
  int64_t total = 0;
};

Pool& ThePool() {
  static Pool& pool = *new Pool();  // never destroyed: threads may outlive main
  return pool;
}

}  // namespace

Status Scratch::Borrow(int64_t bytes) {
  if (bytes <= buffer_.size()) return {};
  {
    Pool& pool = ThePool();
    const TryLock::Guard guard(pool.lock);
    if (guard) {
      AlignedBuffer* best = nullptr;
      for (AlignedBuffer& kept : pool.kept) {
        if (kept.size() >= bytes && (best == nullptr || kept.size() < best->size())) best = &kept;
      }
      if (best != nullptr) {
        pool.total -= best->size();
        buffer_ = std::move(*best);
        return {};
      }
    }
  }
  return AlignedBuffer::Allocate(bytes, &buffer_);
}

Scratch::~Scratch() {
  if (buffer_.size() == 0 || buffer_.size() > kLargest) return;
  AlignedBuffer dropped;  // freed after the lock
  Pool& pool = ThePool();
  const TryLock::Guard guard(pool.lock);
  if (!guard) return;
  AlignedBuffer* smallest = &pool.kept[0];
  for (AlignedBuffer& kept : pool.kept) {
    if (kept.size() < smallest->size()) smallest = &kept;
  }
  // A larger buffer serves more runs than a smaller one.
  if (smallest->size() >= buffer_.size()) return;
  if (pool.total - smallest->size() + buffer_.size() > kTotal) return;
  pool.total += buffer_.size() - smallest->size();
  dropped = std::move(*smallest);
  *smallest = std::move(buffer_);
}

void TrimScratchPool() {
  std::array<AlignedBuffer, kSlots> dropped;
  Pool& pool = ThePool();
  const TryLock::Guard guard(pool.lock);
  if (!guard) return;
  std::swap(dropped, pool.kept);
  pool.total = 0;
}

}  // namespace dgrad
