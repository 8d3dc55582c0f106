// A lock that is never waited for long: whoever does not get it goes without the cache behind it.
// So a child that forks while another thread holds the lock can't hang.
#ifndef DGRAD_PLAN_TRY_LOCK_H_
#define DGRAD_PLAN_TRY_LOCK_H_

#include <atomic>
#include <thread>

namespace dgrad {

class TryLock {
 public:
  class Guard {
   public:
    explicit Guard(TryLock& lock) : lock_(lock.Acquire() ? &lock : nullptr) {}
    ~Guard() {
      if (lock_ != nullptr) lock_->flag_.clear(std::memory_order_release);
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    explicit operator bool() const { return lock_ != nullptr; }

   private:
    TryLock* lock_;
  };

 private:
  bool Acquire() {
    constexpr int kAttempts = 64;  // what the lock guards takes well under a microsecond
    for (int i = 0; i < kAttempts; ++i) {
      if (!flag_.test_and_set(std::memory_order_acquire)) return true;
      std::this_thread::yield();
    }
    return false;
  }

  std::atomic_flag flag_;
};

}  // namespace dgrad

#endif  // DGRAD_PLAN_TRY_LOCK_H_
