// A constant made on first use that no lock guards: a child forked while another thread makes it
// makes its own instead of waiting for a thread that is gone.
#ifndef DGRAD_BASE_LAZY_H_
#define DGRAD_BASE_LAZY_H_

#include <atomic>
#include <memory>

namespace dgrad {

// Make() may run more than once; one result is kept, for ever.
template <auto Make>
const auto& Lazy() {
  using T = decltype(Make());
  static constinit std::atomic<const T*> kept{nullptr};
  const T* value = kept.load(std::memory_order_acquire);
  if (value == nullptr) {
    auto made = std::make_unique<const T>(Make());
    if (kept.compare_exchange_strong(value, made.get(), std::memory_order_acq_rel)) {
      value = made.release();
    }
  }
  return *value;
}

}  // namespace dgrad

#endif  // DGRAD_BASE_LAZY_H_
