// Children of fork, which have one thread and whatever state the others left behind.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "src/threads/executor.h"
#include "src/threads/pool.h"

#if defined(__SANITIZE_THREAD__)
#define DGRAD_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DGRAD_THREAD_SANITIZER
#endif
#endif

// ThreadSanitizer's own runtime can't start threads in the child of a process with threads.
#if !defined(DGRAD_THREAD_SANITIZER)

namespace dgrad {
namespace {

const Control kNoControl;

// True when 64 tasks on four slots each ran once. Takes no memory from the heap: sanitizers' own
// heap may be locked in a child.
bool Compute() {
  std::array<int, 64> ran{};
  const Status status = RunTasks(DefaultPool(), 4, 64, kNoControl,
                                 [&](int, int64_t task) { ++ran[static_cast<size_t>(task)]; });
  for (int times : ran) {
    if (times != 1) return false;
  }
  return status.ok();
}

// Forks; the child ends with 0 if `child` returns true, with a signal if it hangs.
template <typename Child>
pid_t Fork(Child child) {
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(30);
    _exit(child() ? 0 : 1);
  }
  return pid;
}

// What became of a child: "ok", "wrong result" or "signal".
const char* Wait(pid_t pid) {
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid) return "no child";
  if (WIFSIGNALED(status)) return "signal";
  return WEXITSTATUS(status) == 0 ? "ok" : "wrong result";
}

class ForkTest : public testing::Test {
 protected:
  void SetUp() override { SetNumThreads(4); }
  void TearDown() override { SetNumThreads(0); }
};

TEST_F(ForkTest, AnIdlePool) {
  ASSERT_TRUE(Compute());
  Executor& pool = DefaultPool();
  EXPECT_STREQ(Wait(Fork([&pool] {
                 const bool forgotten = DefaultPoolWorkers() == 0;
                 return forgotten && &pool == &DefaultPool() && Compute() && Compute() &&
                        DefaultPoolWorkers() == 3;
               })),
               "ok");
  EXPECT_TRUE(Compute());
}

TEST_F(ForkTest, WhileOtherThreadsCompute) {
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> computing;
  for (int i = 0; i < 2; ++i) {
    computing.emplace_back([&] {
      while (!stop.load()) {
        if (!Compute()) ++wrong;
      }
    });
  }
  for (int repeat = 0; repeat < 40; ++repeat) {
    EXPECT_STREQ(Wait(Fork([] { return Compute() && Compute(); })), "ok") << repeat;
  }
  stop = true;
  for (std::thread& thread : computing) thread.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_TRUE(Compute());
}

TEST_F(ForkTest, AGrandchild) {
  ASSERT_TRUE(Compute());
  EXPECT_STREQ(
      Wait(Fork([] { return Compute() && Wait(Fork(Compute)) == std::string("ok") && Compute(); })),
      "ok");
}

// The child lacks the threads that ran the other tasks: it gets an error, not a wait without end.
TEST_F(ForkTest, InsideATask) {
  const pthread_t caller = pthread_self();
  pid_t child = -1;
  std::atomic<int> arrived{0};
  const Status status = DefaultPool().ParallelFor(4, [&](int64_t) {
    ++arrived;
    while (arrived.load() < 4) std::this_thread::yield();
    if (pthread_equal(pthread_self(), caller)) {
      child = fork();
      if (child == 0) alarm(30);
    }
  });
  if (child == 0) _exit(status.code() == Code::kInternal && Compute() ? 0 : 1);
  EXPECT_TRUE(status.ok());
  EXPECT_STREQ(Wait(child), "ok");
}

// In a child, for the default stack size of a process can't be had back everywhere.
TEST_F(ForkTest, ThreadsThatCanNotBeStarted) {
  EXPECT_STREQ(Wait(Fork([] {
                 pthread_attr_t large;
                 pthread_attr_init(&large);
                 pthread_attr_setstacksize(&large, size_t{1} << 50);  // no address space has that
                 if (pthread_setattr_default_np(&large) != 0) return false;
                 return Compute() && DefaultPoolWorkers() == 0;
               })),
               "ok");
}

}  // namespace
}  // namespace dgrad

#endif  // DGRAD_THREAD_SANITIZER
