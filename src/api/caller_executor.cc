#include "src/api/caller_executor.h"

#include <atomic>

#include "src/api/structs.h"
#include "src/base/text.h"

namespace dgrad {
namespace {

// One call of parallel_for.
struct Batch {
  FunctionRef<void(int64_t)> task;
  int64_t count;
  std::atomic<int64_t> done = 0;
  std::atomic<bool> out_of_range = false;
};

void RunOne(void* context, int64_t index) noexcept {
  auto* batch = static_cast<Batch*>(context);
  if (index < 0 || index >= batch->count) {
    batch->out_of_range.store(true, std::memory_order_relaxed);
    return;
  }
  batch->task(index);
  batch->done.fetch_add(1, std::memory_order_release);
}

}  // namespace

Status CallerExecutor::Init(const dgrad_executor* executor) {
  DGRAD_RETURN_IF_ERROR(ReadStruct("executor", executor, &executor_));
  if (executor_.concurrency <= 0) {
    return InvalidArgument(
        Concat("executor->concurrency is ", executor_.concurrency, "; it must be at least 1"));
  }
  if (executor_.reserved != 0) {
    return InvalidArgument(Concat("executor->reserved is ", executor_.reserved, "; it must be 0"));
  }
  if (executor_.parallel_for == nullptr) {
    return InvalidArgument("executor->parallel_for is null; a function is needed");
  }
  return Status();
}

Status CallerExecutor::ParallelFor(int64_t count, FunctionRef<void(int64_t)> task) {
  Batch batch{task, count};
  int32_t result = 0;
  try {
    result = executor_.parallel_for(executor_.user, count, RunOne, &batch);
  } catch (...) {
    return Internal("executor->parallel_for threw an exception; it must return a number");
  }
  if (result != 0) {
    return Internal(Concat("executor->parallel_for returned ", result, "; 0 is its success"));
  }
  if (batch.out_of_range.load(std::memory_order_relaxed)) {
    return Internal(Concat("executor->parallel_for ran a task outside [0, ", count, ")"));
  }
  const int64_t done = batch.done.load(std::memory_order_acquire);
  if (done != count) {
    return Internal(Concat("executor->parallel_for ran ", done, " tasks of ", count,
                           "; each must run once before it returns"));
  }
  return Status();
}

CallerPoll::CallerPoll(const dgrad_run_arguments& run) : poll_(run.poll), user_(run.poll_user) {
  control_.cancel = run.cancel;
  if (poll_ != nullptr) {
    control_.poll = Poll;
    control_.poll_user = this;
  }
}

int32_t CallerPoll::Poll(void* self) noexcept {
  auto* poll = static_cast<CallerPoll*>(self);
  try {
    return poll->poll_(poll->user_);
  } catch (...) {
    poll->threw_ = true;
    return 1;
  }
}

Status CallerPoll::Finish(Status result) const {
  if (threw_) return Internal("poll threw an exception; it must return a number");
  return result;
}

}  // namespace dgrad
