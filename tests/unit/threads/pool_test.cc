#include "src/threads/pool.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "src/threads/executor.h"

namespace dgrad {
namespace {

const Control kNoControl;

// Every test has workers, also on a machine of one CPU.
class PoolTest : public testing::Test {
 protected:
  void SetUp() override { SetNumThreads(4); }
  void TearDown() override { SetNumThreads(0); }
};

// Runs `count` tasks and checks that each ran once, seen without atomics after the return.
void RunAndCheck(Executor& executor, int64_t count) {
  std::vector<int> ran(static_cast<size_t>(count), 0);
  ASSERT_TRUE(executor.ParallelFor(count, [&](int64_t i) { ++ran[static_cast<size_t>(i)]; }).ok());
  for (int64_t i = 0; i < count; ++i) EXPECT_EQ(ran[static_cast<size_t>(i)], 1) << i;
}

TEST_F(PoolTest, EveryTaskRunsOnce) {
  for (int64_t count : {0, 1, 2, 3, 4, 5, 7, 64, 1000, 20000}) {
    RunAndCheck(DefaultPool(), count);
    RunAndCheck(SerialExecutor(), count);
  }
}

TEST_F(PoolTest, ManyShortLoops) {
  std::atomic<int64_t> sum{0};
  for (int repeat = 0; repeat < 3000; ++repeat) {
    ASSERT_TRUE(DefaultPool().ParallelFor(4, [&](int64_t i) { sum += i; }).ok());
  }
  EXPECT_EQ(sum.load(), 3000 * 6);
}

// Tasks that wait for each other: the loop ends only if as many threads come.
void Meet(int threads) {
  std::atomic<int> arrived{0};
  const auto task = [&](int64_t) {
    ++arrived;
    while (arrived.load() < threads) std::this_thread::yield();
  };
  ASSERT_TRUE(ParallelForOnPool(threads, threads, task).ok());
  EXPECT_EQ(arrived.load(), threads);
}

// Workers have gone to sleep between the loops; all of them are wanted, or some.
TEST_F(PoolTest, SleepersWake) {
  for (int repeat = 0; repeat < 3; ++repeat) {
    for (int threads : {6, 4, 2, 3}) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      Meet(threads);
    }
  }
}

TEST_F(PoolTest, UsesNoMoreThreadsThanItShould) {
  for (int threads : {1, 2, 4}) {
    SetNumThreads(threads);
    std::mutex mutex;
    std::set<std::thread::id> ids;
    const auto task = [&](int64_t) {
      const std::lock_guard lock(mutex);
      ids.insert(std::this_thread::get_id());
    };
    ASSERT_TRUE(DefaultPool().ParallelFor(500, task).ok());
    EXPECT_LE(ids.size(), static_cast<size_t>(threads));
  }
}

// More slots than NumThreads(): each of them gets a thread.
TEST_F(PoolTest, GrowsForPlansThatWantMore) {
  constexpr int kSlots = 9;
  std::atomic<int> arrived{0};
  ASSERT_TRUE(RunTasks(DefaultPool(), kSlots, kSlots, kNoControl, [&](int, int64_t) {
                ++arrived;
                while (arrived.load() < kSlots) std::this_thread::yield();
              }).ok());
  EXPECT_EQ(arrived.load(), kSlots);
  EXPECT_GE(DefaultPoolWorkers(), kSlots - 1);
}

TEST_F(PoolTest, TheNumberOfThreadsIsBounded) {
  std::atomic<int> ran{0};
  ASSERT_TRUE(ParallelForOnPool(1 << 30, 5000, [&](int64_t) { ++ran; }).ok());
  EXPECT_EQ(ran.load(), 5000);
  EXPECT_LT(DefaultPoolWorkers(), kMaxThreads);
}

TEST_F(PoolTest, SeveralCallersAtOnce) {
  constexpr int kCallers = 6;
  std::vector<std::thread> callers;
  std::atomic<int> failures{0};
  for (int caller = 0; caller < kCallers; ++caller) {
    callers.emplace_back([caller, &failures] {
      for (int repeat = 0; repeat < 300; ++repeat) {
        const int64_t count = 1 + (repeat * 7 + caller) % 50;
        std::vector<int64_t> out(static_cast<size_t>(count), -1);
        const Status status = DefaultPool().ParallelFor(
            count, [&](int64_t i) { out[static_cast<size_t>(i)] += 1 + i * caller; });
        if (!status.ok()) ++failures;
        for (int64_t i = 0; i < count; ++i) {
          if (out[static_cast<size_t>(i)] != i * caller) ++failures;
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(failures.load(), 0);
}

// A caller that holds all workers does not hold up another one.
TEST_F(PoolTest, ACallerNeedsNoWorkers) {
  std::atomic<bool> release{false};
  std::atomic<int> held{0};
  std::thread holder([&] {
    const Status status = RunTasks(DefaultPool(), 4, 4, kNoControl, [&](int, int64_t) {
      ++held;
      while (!release.load()) std::this_thread::yield();
    });
    EXPECT_TRUE(status.ok());
  });
  while (held.load() < 4) std::this_thread::yield();
  RunAndCheck(DefaultPool(), 100);
  release = true;
  holder.join();
}

TEST_F(PoolTest, NestedLoopsRunSerially) {
  constexpr int64_t kOuter = 8;
  constexpr int64_t kInner = 20;
  std::vector<int> ran(kOuter * kInner, 0);
  std::atomic<int> elsewhere{0};
  ASSERT_TRUE(DefaultPool()
                  .ParallelFor(kOuter,
                               [&](int64_t outer) {
                                 const std::thread::id here = std::this_thread::get_id();
                                 const Status status =
                                     DefaultPool().ParallelFor(kInner, [&](int64_t inner) {
                                       if (std::this_thread::get_id() != here) ++elsewhere;
                                       ++ran[static_cast<size_t>(outer * kInner + inner)];
                                     });
                                 EXPECT_TRUE(status.ok());
                               })
                  .ok());
  EXPECT_EQ(elsewhere.load(), 0);
  for (int times : ran) EXPECT_EQ(times, 1);
  RunAndCheck(DefaultPool(), 10);
}

TEST_F(PoolTest, WorkersTakeNoSignalsOfTheProgram) {
  const pthread_t caller = pthread_self();
  std::atomic<int> arrived{0};
  std::atomic<int> open{0};
  std::atomic<int> faults_blocked{0};
  ASSERT_TRUE(DefaultPool()
                  .ParallelFor(4,
                               [&](int64_t) {
                                 ++arrived;
                                 while (arrived.load() < 4) std::this_thread::yield();
                                 if (pthread_equal(pthread_self(), caller)) return;
                                 sigset_t mask;
                                 pthread_sigmask(SIG_SETMASK, nullptr, &mask);
                                 for (int number : {SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGCHLD}) {
                                   if (sigismember(&mask, number) != 1) ++open;
                                 }
                                 if (sigismember(&mask, SIGSEGV) != 0) ++faults_blocked;
                               })
                  .ok());
  EXPECT_EQ(open.load(), 0);
  EXPECT_EQ(faults_blocked.load(), 0);
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  EXPECT_EQ(sigismember(&mask, SIGINT), 0);  // the caller's own mask is as it was
}

}  // namespace
}  // namespace dgrad
