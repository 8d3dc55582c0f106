#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "src/base/float_environment.h"
#include "src/threads/executor.h"
#include "src/threads/in_task.h"
#include "src/threads/pool.h"

namespace dgrad {
namespace {

// poll may take a lock of the program, such as an interpreter's: it is asked no more often.
constexpr auto kPollInterval = std::chrono::milliseconds(5);

class TaskRun {
 public:
  TaskRun(int64_t tasks, const Control& control, FunctionRef<void(int, int64_t)> run)
      : tasks_(tasks), control_(control), run_(run) {
    Look();
  }

  // The loop of one slot. Each call is a slot of its own, whatever index the executor gave it.
  void Slot(int slots) {
    const int slot = slot_.fetch_add(1, std::memory_order_relaxed);
    if (slot >= slots) return;  // the executor calls more often than it was asked to
    const bool calling_thread = std::this_thread::get_id() == caller_;
    int64_t finished = 0;
    while (next_.load(std::memory_order_relaxed) < tasks_) {
      // The constructor has just looked, and a clock costs as much as a tiny task's set-up.
      if (calling_thread && finished > 0 && PollIsDue()) {
        Look();
      } else if (FlagIsSet()) {
        Stop();
      }
      if (stopped_.load(std::memory_order_relaxed)) break;
      const int64_t task = next_.fetch_add(1, std::memory_order_relaxed);
      if (task >= tasks_) break;
      RunOne(slot, task);
      ++finished;
    }
    finished_.fetch_add(finished, std::memory_order_release);
  }

  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
  int64_t finished() const { return finished_.load(std::memory_order_acquire); }

 private:
  void Stop() { stopped_.store(true, std::memory_order_relaxed); }

  bool FlagIsSet() const {
    return control_.cancel != nullptr && __atomic_load_n(control_.cancel, __ATOMIC_RELAXED) != 0;
  }

  bool PollIsDue() const {
    return control_.poll != nullptr && std::chrono::steady_clock::now() >= next_poll_;
  }

  // Asks both. On the calling thread only.
  void Look() {
    if (FlagIsSet()) Stop();
    if (control_.poll == nullptr) return;
    if (control_.poll(control_.poll_user) != 0) Stop();
    if (tasks_ > 1) next_poll_ = std::chrono::steady_clock::now() + kPollInterval;
  }

  // Poll and the executor see the floating-point state of their thread, tasks their own.
  void RunOne(int slot, int64_t task) {
    const InTask in_task_scope;
    const FloatEnvironment environment;
    run_(slot, task);
  }

  const int64_t tasks_;
  const Control& control_;
  const FunctionRef<void(int, int64_t)> run_;
  const std::thread::id caller_ = std::this_thread::get_id();
  std::chrono::steady_clock::time_point next_poll_;  // of the calling thread
  std::atomic<int> slot_{0};
  std::atomic<bool> stopped_{false};
  std::atomic<int64_t> finished_{0};
  alignas(64) std::atomic<int64_t> next_{0};  // the first task nobody has claimed
};

}  // namespace

Status RunTasks(Executor& executor, int slots, int64_t tasks, const Control& control,
                FunctionRef<void(int slot, int64_t task)> run) {
  TaskRun state(tasks, control, run);
  if (state.stopped()) return Cancelled();

  slots = static_cast<int>(std::clamp<int64_t>(slots, 1, std::max<int64_t>(tasks, 1)));
  if (slots == 1 || in_task) {
    state.Slot(1);
  } else {
    const auto slot = [&](int64_t) { state.Slot(slots); };
    const Status status = &executor == &DefaultPool() ? ParallelForOnPool(slots, slots, slot)
                                                      : executor.ParallelFor(slots, slot);
    if (!status.ok() && !state.stopped()) return status;
  }
  if (state.stopped()) return Cancelled();
  if (state.finished() != std::max<int64_t>(tasks, 0)) {
    return Internal("the executor returned after " + std::to_string(state.finished()) + " of " +
                    std::to_string(tasks) + " tasks");
  }
  return {};
}

}  // namespace dgrad
