// Who runs tasks: the interface behind the library's own pool and the caller's parallel_for.
#ifndef DGRAD_THREADS_EXECUTOR_H_
#define DGRAD_THREADS_EXECUTOR_H_

#include <cstdint>

#include "src/base/function_ref.h"
#include "src/base/status.h"

namespace dgrad {

// No plan uses more threads; a larger wish is an error.
inline constexpr int kMaxThreads = 1024;

class Executor {
 public:
  virtual ~Executor() = default;

  // How many tasks may run at once, >= 1.
  virtual int concurrency() const = 0;

  // Calls task(i) once for every i in [0, count), in any order, maybe one after the other, and
  // returns when all are done. Tasks do not throw.
  virtual Status ParallelFor(int64_t count, FunctionRef<void(int64_t)> task) = 0;
};

// Runs everything on the calling thread.
Executor& SerialExecutor();

// The library's pool, started on first use (threads.cc of the pool are never joined). Several
// callers share the workers; each caller works on its own tasks. Nested calls run serially. A
// forked child starts a pool of its own.
Executor& DefaultPool();

// The default number of threads: SetNumThreads if > 0, else DGRAD_NUM_THREADS if it is a positive
// number, else min(CPU affinity, cgroup quota rounded up), at least 1.
int NumThreads();
void SetNumThreads(int threads);  // 0: automatic again

// Asked between tasks, on the calling thread.
struct Control {
  const int32_t* cancel = nullptr;        // non-zero cancels
  int32_t (*poll)(void* user) = nullptr;  // non-zero cancels; called on the calling thread only
  void* poll_user = nullptr;
};

// Spreads `tasks` over `slots` workers that claim them one by one in rising order: run(slot, task).
// A slot runs one task at a time, so it may own scratch memory. The calling thread looks at control
// before each task it runs; a cancelled run stops claiming tasks and returns Cancelled().
// Subnormals are flushed and rounding is to nearest inside run; the threads' own floating-point
// state is restored. With one slot or one task the executor is not asked.
Status RunTasks(Executor& executor, int slots, int64_t tasks, const Control& control,
                FunctionRef<void(int slot, int64_t task)> run);

}  // namespace dgrad

#endif  // DGRAD_THREADS_EXECUTOR_H_
