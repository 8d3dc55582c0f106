// Executors for tests of what RunTasks does with the caller's own.
#ifndef DGRAD_TESTS_UNIT_THREADS_EXECUTORS_H_
#define DGRAD_TESTS_UNIT_THREADS_EXECUTORS_H_

#include <cstdint>
#include <thread>
#include <vector>

#include "src/threads/executor.h"

namespace dgrad::test {

// Calls tasks in falling order on the calling thread; counts its calls.
class Reversed : public Executor {
 public:
  int concurrency() const override { return 4; }
  Status ParallelFor(int64_t count, FunctionRef<void(int64_t)> task) override {
    ++calls;
    for (int64_t i = count - 1; i >= 0; --i) task(i);
    return {};
  }
  int calls = 0;
};

// One new thread a task; none on the calling thread.
class OtherThreads : public Executor {
 public:
  int concurrency() const override { return 4; }
  Status ParallelFor(int64_t count, FunctionRef<void(int64_t)> task) override {
    std::vector<std::thread> threads;
    for (int64_t i = 0; i < count; ++i) threads.emplace_back([task, i] { task(i); });
    for (std::thread& thread : threads) thread.join();
    return {};
  }
};

// Runs everything and then says that it failed.
class Failing : public Executor {
 public:
  int concurrency() const override { return 4; }
  Status ParallelFor(int64_t count, FunctionRef<void(int64_t)> task) override {
    for (int64_t i = 0; i < count; ++i) task(i);
    return Internal("parallel_for returned 7");
  }
};

// Runs the first `kept` tasks, each of them `times` times, and says that all is well.
class Sloppy : public Executor {
 public:
  Sloppy(int64_t kept, int times) : kept_(kept), times_(times) {}
  int concurrency() const override { return 4; }
  Status ParallelFor(int64_t count, FunctionRef<void(int64_t)> task) override {
    for (int64_t i = 0; i < count && i < kept_; ++i) {
      for (int time = 0; time < times_; ++time) task(i);
    }
    return {};
  }

 private:
  const int64_t kept_;
  const int times_;
};

}  // namespace dgrad::test

#endif  // DGRAD_TESTS_UNIT_THREADS_EXECUTORS_H_
