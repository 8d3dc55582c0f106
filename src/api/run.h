// Small things that running a plan and packing a filter share.
#ifndef DGRAD_API_RUN_H_
#define DGRAD_API_RUN_H_

#include <cstddef>

#include "src/plan/plan.h"
#include "src/threads/executor.h"

namespace dgrad {

// The library's own threads, left asleep for a plan that uses one.
inline Executor& OwnExecutor(const Plan& plan) {
  return plan.threads() == 1 ? SerialExecutor() : DefaultPool();
}

// Plans tell "given" from "not given" by null, so an empty tensor at null gets an address.
inline constexpr std::max_align_t kPlaceholder = {};
inline const void* OrPlaceholder(const void* data) {
  return data != nullptr ? data : &kPlaceholder;
}
inline void* OrPlaceholder(void* data) {
  return data != nullptr ? data : const_cast<std::max_align_t*>(&kPlaceholder);
}

}  // namespace dgrad

#endif  // DGRAD_API_RUN_H_
