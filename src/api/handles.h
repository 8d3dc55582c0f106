// What the opaque handles of the C interface hold. A magic number, cleared on destruction, catches
// most uses of a destroyed handle or of a pointer to something else.
#ifndef DGRAD_API_HANDLES_H_
#define DGRAD_API_HANDLES_H_

#include <dgrad/dgrad.h>

#include <cstdint>
#include <memory>

#include "src/api/error.h"
#include "src/base/aligned_buffer.h"
#include "src/base/status.h"
#include "src/base/text.h"
#include "src/plan/plan.h"
#include "src/problem/problem.h"

struct dgrad_problem {
  static constexpr uint64_t kMagic = 0x6467'7261'645F'7072;  // "dgrad_pr"
  static constexpr const char* kType = "dgrad_problem";

  uint64_t magic = kMagic;
  dgrad::Problem problem;
};

struct dgrad_plan {
  static constexpr uint64_t kMagic = 0x6467'7261'645F'706C;  // "dgrad_pl"
  static constexpr const char* kType = "dgrad_plan";

  uint64_t magic = kMagic;
  std::shared_ptr<const dgrad::Plan> plan;
};

struct dgrad_packed_filter {
  static constexpr uint64_t kMagic = 0x6467'7261'645F'7066;  // "dgrad_pf"
  static constexpr const char* kType = "dgrad_packed_filter";

  uint64_t magic = kMagic;
  std::shared_ptr<const dgrad::Plan> plan;  // the plan it was packed for
  dgrad::AlignedBuffer owned;               // empty when the caller gave storage
  const void* data = nullptr;               // plan->packed_filter_bytes() bytes
};

namespace dgrad {

// Best effort: a stray pointer may as well crash here.
template <typename Handle>
bool IsLive(const Handle* handle) {
  return reinterpret_cast<uintptr_t>(handle) % alignof(Handle) == 0 &&
         handle->magic == Handle::kMagic;
}

template <typename Handle>
Status CheckHandle(const char* name, const Handle* handle) {
  if (handle == nullptr) {
    return InvalidArgument(Concat(name, " is null; a ", Handle::kType, " is needed"));
  }
  if (!IsLive(handle)) {
    return InvalidArgument(Concat(name, " is not a live ", Handle::kType,
                                  ": it was destroyed or points to something else"));
  }
  return Status();
}

// Null is allowed. A pointer that is no live handle is reported as the last error and left alone.
template <typename Handle>
void DestroyHandle(const char* name, Handle* handle) noexcept {
  if (handle == nullptr) return;
  if (Guard([&] { return CheckHandle(name, handle); }) != DGRAD_OK) return;
  // Through volatile, or the compiler drops the store as dead.
  *const_cast<volatile uint64_t*>(&handle->magic) = 0;
  delete handle;
}

}  // namespace dgrad

#endif  // DGRAD_API_HANDLES_H_
