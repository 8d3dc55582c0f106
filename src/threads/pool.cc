#include "src/threads/pool.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>

#include "src/base/no_destructor.h"
#include "src/threads/executor.h"
#include "src/threads/in_task.h"

namespace dgrad {
namespace {

// How long an idle worker, or a caller whose workers are still busy, looks around before it sleeps.
// Waking a sleeper costs about as much.
constexpr auto kSpin = std::chrono::microseconds(30);

void CpuRelax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");  // yield is a no-op on most cores
#endif
}

template <typename Ready>
void SpinUntil(Ready ready) {
  const auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < 16; ++i) {
      if (ready()) return;
      CpuRelax();
    }
  } while (std::chrono::steady_clock::now() < end);
}

// One ParallelFor, on its caller's stack. The caller stays until no worker is inside.
struct Job {
  Job(int64_t task_count, FunctionRef<void(int64_t)> function, int workers)
      : task(function), count(task_count), open(workers) {}

  void Work() {
    InTask scope;
    for (;;) {
      const int64_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= count) return;
      task(i);
    }
  }

  const FunctionRef<void(int64_t)> task;
  const int64_t count;
  // Guarded by the pool's mutex:
  int open;                      // workers that may still come; > 0 while listed
  std::atomic<int> inside{0};    // workers in Work(); may be read without the mutex
  std::condition_variable left;  // inside became 0
  Job* before = nullptr;
  Job* after = nullptr;
  alignas(64) std::atomic<int64_t> next{0};  // the first task nobody has claimed
};

class Pool {
 public:
  // The pool of this process; null without memory.
  static Pool* Current();

  // False: this is a child that was forked inside a task.
  bool Run(Job& job);

  int workers() {
    const std::lock_guard lock(mutex_);
    return workers_;
  }

 private:
  static void* Main(void* pool);
  void Serve();

  // All need the mutex.
  void StartWorkers(int more);
  void Push(Job* job);
  void Unlink(Job* job);
  Job* Join();
  void Leave(Job* job);

  std::mutex mutex_;
  std::condition_variable wake_;
  int workers_ = 0;
  int busy_ = 0;      // workers inside a job
  int sleepers_ = 0;  // workers that wait for wake_
  Job* first_ = nullptr;
  Job* last_ = nullptr;
  alignas(64) std::atomic<int> open_{0};  // sum of the listed jobs' open; changed under the mutex
};

// Plain atomics that the loader initialises: nothing here can be half made when somebody forks.
constinit std::atomic<Pool*> current{nullptr};
constinit std::atomic<Pool*> abandoned{nullptr};  // seen by leak checkers only

// A child has the forking thread alone. It forgets the workers, and the locks they may have held.
void ForgetPool() {
  if (Pool* pool = current.exchange(nullptr)) abandoned.store(pool);
}
[[maybe_unused]] const int at_fork = pthread_atfork(nullptr, nullptr, ForgetPool);

Pool* Pool::Current() {
  Pool* pool = current.load(std::memory_order_acquire);
  if (pool != nullptr) return pool;
  Pool* fresh = new (std::nothrow) Pool;
  if (fresh != nullptr && !current.compare_exchange_strong(pool, fresh)) {
    delete fresh;  // another thread was first
    return pool;
  }
  return fresh;
}

bool Pool::Run(Job& job) {
  int to_wake = 0;
  {
    const std::lock_guard lock(mutex_);
    Push(&job);
    const int open = open_.load(std::memory_order_relaxed) + job.open;
    open_.store(open, std::memory_order_release);
    if (busy_ + open > workers_) {
      // All callers together get the default number, and one that asked for more gets that.
      StartWorkers(std::min(busy_ + open, std::max(job.open, NumThreads() - 1)) - workers_);
    }
    // Workers awake but idle look at the list before they sleep.
    to_wake = std::min(sleepers_, open - (workers_ - busy_ - sleepers_));
    if (to_wake == sleepers_ && to_wake > 1) {
      wake_.notify_all();
      to_wake = 0;
    }
  }
  for (; to_wake > 0; --to_wake) wake_.notify_one();

  job.Work();
  if (current.load(std::memory_order_acquire) != this) return false;

  std::unique_lock lock(mutex_);
  if (job.open > 0) {
    open_.fetch_sub(job.open, std::memory_order_relaxed);
    job.open = 0;
    Unlink(&job);
  }
  if (job.inside.load(std::memory_order_relaxed) > 0) {
    lock.unlock();
    SpinUntil([&] { return job.inside.load(std::memory_order_relaxed) == 0; });
    lock.lock();  // also when it is 0: the last worker may still be at job.left
    while (job.inside.load(std::memory_order_relaxed) > 0) job.left.wait(lock);
  }
  return true;
}

void* Pool::Main(void* pool) {
#if defined(__linux__)
  pthread_setname_np(pthread_self(), "dgrad");
#endif
  static_cast<Pool*>(pool)->Serve();
  return nullptr;
}

void Pool::Serve() {
  for (;;) {
    SpinUntil([this] { return open_.load(std::memory_order_relaxed) > 0; });
    std::unique_lock lock(mutex_);
    while (first_ == nullptr) {
      ++sleepers_;
      wake_.wait(lock);
      --sleepers_;
    }
    while (first_ != nullptr) {
      Job* job = Join();
      lock.unlock();
      job->Work();
      // A task forked and this is the child: the job's caller is gone, and so is the pool.
      if (current.load(std::memory_order_acquire) != this) return;
      lock.lock();
      Leave(job);
    }
  }
}

// As many as can be had: a loop works with any number of workers.
void Pool::StartWorkers(int more) {
  if (more <= 0) return;
  // The program's signals are for its own threads. Faults of a thread can't go elsewhere.
  sigset_t blocked;
  sigset_t before;
  sigfillset(&blocked);
  for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) {
    sigdelset(&blocked, fault);
  }
  pthread_attr_t detached;
  if (pthread_attr_init(&detached) != 0) return;
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  pthread_sigmask(SIG_SETMASK, &blocked, &before);
  for (; more > 0; --more) {
    pthread_t thread;
    if (pthread_create(&thread, &detached, Main, this) != 0) break;
    ++workers_;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&detached);
}

void Pool::Push(Job* job) {
  job->before = last_;
  job->after = nullptr;
  (last_ != nullptr ? last_->after : first_) = job;
  last_ = job;
}

void Pool::Unlink(Job* job) {
  (job->before != nullptr ? job->before->after : first_) = job->after;
  (job->after != nullptr ? job->after->before : last_) = job->before;
}

// Takes a place in the first job, which then goes to the end of the list: callers share evenly.
Job* Pool::Join() {
  Job* job = first_;
  Unlink(job);
  if (--job->open > 0) Push(job);
  open_.fetch_sub(1, std::memory_order_relaxed);
  job->inside.fetch_add(1, std::memory_order_relaxed);
  ++busy_;
  return job;
}

void Pool::Leave(Job* job) {
  --busy_;
  if (job->inside.fetch_sub(1, std::memory_order_relaxed) == 1) job->left.notify_one();
}

// What callers hold; it stays the same over a fork.
class PoolExecutor final : public Executor {
 public:
  int concurrency() const override { return NumThreads(); }

  Status ParallelFor(int64_t count, FunctionRef<void(int64_t)> task) override {
    return ParallelForOnPool(NumThreads(), count, task);
  }
};

constinit NoDestructor<PoolExecutor> executor;

}  // namespace

Executor& DefaultPool() { return executor.value; }

Status ParallelForOnPool(int threads, int64_t count, FunctionRef<void(int64_t)> task) {
  threads = static_cast<int>(std::min<int64_t>(std::min(threads, kMaxThreads), count));
  Pool* pool = threads <= 1 || in_task ? nullptr : Pool::Current();
  if (pool == nullptr) return SerialExecutor().ParallelFor(count, task);

  Job job(count, task, threads - 1);
  if (!pool->Run(job)) {
    return Internal("the process was forked inside a task; the child lacks the other threads'");
  }
  return {};
}

int DefaultPoolWorkers() {
  Pool* pool = Pool::Current();
  return pool != nullptr ? pool->workers() : 0;
}

}  // namespace dgrad
