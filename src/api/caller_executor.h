// The caller's threads and poll function behind the library's own interfaces.
#ifndef DGRAD_API_CALLER_EXECUTOR_H_
#define DGRAD_API_CALLER_EXECUTOR_H_

#include <dgrad/dgrad.h>

#include <cstdint>

#include "src/base/status.h"
#include "src/threads/executor.h"

namespace dgrad {

// Runs tasks through a dgrad_executor and checks that all of them ran.
class CallerExecutor final : public Executor {
 public:
  // Reads and checks the caller's struct.
  Status Init(const dgrad_executor* executor);

  int concurrency() const override { return executor_.concurrency; }
  Status ParallelFor(int64_t count, FunctionRef<void(int64_t)> task) override;

 private:
  dgrad_executor executor_ = {};
};

// Polls the caller's function. An exception from it cancels the run instead of unwinding through
// tasks at work; status() tells it afterwards.
class CallerPoll {
 public:
  explicit CallerPoll(const dgrad_run_arguments& run);
  CallerPoll(const CallerPoll&) = delete;
  CallerPoll& operator=(const CallerPoll&) = delete;

  const Control& control() const { return control_; }
  // `result` of the run, unless poll threw.
  Status Finish(Status result) const;

 private:
  static int32_t Poll(void* self) noexcept;

  int32_t (*poll_)(void* user);
  void* user_;
  bool threw_ = false;
  Control control_;
};

}  // namespace dgrad

#endif  // DGRAD_API_CALLER_EXECUTOR_H_
