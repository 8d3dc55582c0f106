#include <gtest/gtest.h>

#include <atomic>
#include <cfenv>
#include <chrono>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "src/threads/executor.h"
#include "tests/unit/threads/executors.h"

namespace dgrad {
namespace {

using test::Failing;
using test::OtherThreads;
using test::Reversed;
using test::Sloppy;

const Control kNoControl;

class RunTasksTest : public testing::Test {
 protected:
  void SetUp() override { SetNumThreads(4); }
  void TearDown() override { SetNumThreads(0); }
};

// Each task once; slots within range and never used by two threads at a time.
void RunAndCheck(Executor& executor, int slots, int64_t tasks) {
  SCOPED_TRACE(std::to_string(slots) + " slots, " + std::to_string(tasks) + " tasks");
  std::vector<int> ran(static_cast<size_t>(tasks), 0);
  std::vector<std::atomic<int>> in_slot(static_cast<size_t>(slots));
  std::atomic<int> errors{0};
  const Status status = RunTasks(executor, slots, tasks, kNoControl, [&](int slot, int64_t task) {
    if (slot < 0 || slot >= slots || task < 0 || task >= tasks) {
      ++errors;
      return;
    }
    if (in_slot[static_cast<size_t>(slot)].fetch_add(1) != 0) ++errors;
    ++ran[static_cast<size_t>(task)];
    in_slot[static_cast<size_t>(slot)].fetch_sub(1);
  });
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(errors.load(), 0);
  for (int64_t i = 0; i < tasks; ++i) EXPECT_EQ(ran[static_cast<size_t>(i)], 1) << i;
}

TEST_F(RunTasksTest, EveryTaskRunsOnce) {
  Reversed reversed;
  OtherThreads others;
  for (int slots : {1, 2, 3, 4, 7}) {
    for (int64_t tasks : {0, 1, 2, 3, 5, 8, 100, 3000}) {
      RunAndCheck(DefaultPool(), slots, tasks);
      RunAndCheck(SerialExecutor(), slots, tasks);
      RunAndCheck(reversed, slots, tasks);
      RunAndCheck(others, slots, tasks);
    }
  }
}

TEST_F(RunTasksTest, OneSlotRunsInRisingOrderWithoutTheExecutor) {
  Reversed reversed;
  std::vector<int64_t> order;
  const auto record = [&](int slot, int64_t task) {
    EXPECT_EQ(slot, 0);
    order.push_back(task);
  };
  ASSERT_TRUE(RunTasks(reversed, 1, 4, kNoControl, record).ok());
  EXPECT_EQ(order, (std::vector<int64_t>{0, 1, 2, 3}));
  ASSERT_TRUE(RunTasks(reversed, 8, 1, kNoControl, record).ok());
  ASSERT_TRUE(RunTasks(reversed, 0, 1, kNoControl, record).ok());
  EXPECT_EQ(reversed.calls, 0);
  ASSERT_TRUE(RunTasks(reversed, 2, 2, kNoControl, [](int, int64_t) {}).ok());
  EXPECT_EQ(reversed.calls, 1);
}

TEST_F(RunTasksTest, NestedRunsDoNotAskTheExecutor) {
  Reversed inner;
  std::atomic<int> ran{0};
  ASSERT_TRUE(RunTasks(DefaultPool(), 2, 2, kNoControl, [&](int, int64_t outer) {
                if (outer != 0) return;
                EXPECT_TRUE(RunTasks(inner, 4, 10, kNoControl, [&](int, int64_t) { ++ran; }).ok());
              }).ok());
  EXPECT_EQ(ran.load(), 10);
  EXPECT_EQ(inner.calls, 0);
}

TEST_F(RunTasksTest, AFlagThatIsSetStopsEverything) {
  const int32_t cancel = 1;
  Control control;
  control.cancel = &cancel;
  for (int slots : {1, 4}) {
    std::atomic<int> ran{0};
    const Status status = RunTasks(DefaultPool(), slots, 10, control, [&](int, int64_t) { ++ran; });
    EXPECT_EQ(status.code(), Code::kCancelled);
    EXPECT_EQ(ran.load(), 0);
  }
}

// Also when the calling thread runs no task.
TEST_F(RunTasksTest, AFlagSetOnTheWayStopsAllSlots) {
  OtherThreads others;
  for (Executor* executor : {&DefaultPool(), &SerialExecutor(), static_cast<Executor*>(&others)}) {
    for (int slots : {1, 2, 4}) {
      int32_t cancel = 0;
      Control control;
      control.cancel = &cancel;
      std::atomic<int64_t> ran{0};
      const Status status = RunTasks(*executor, slots, 100000, control, [&](int, int64_t) {
        const int64_t nth = ++ran;
        if (nth == 5) __atomic_store_n(&cancel, 1, __ATOMIC_RELAXED);
        // Tasks claimed before the flag was set; their slots claim no more.
        while (nth > 5 && __atomic_load_n(&cancel, __ATOMIC_RELAXED) == 0) {
          std::this_thread::yield();
        }
      });
      EXPECT_EQ(status.code(), Code::kCancelled);
      EXPECT_GE(ran.load(), 5);
      EXPECT_LT(ran.load(), 5 + slots);
    }
  }
}

TEST_F(RunTasksTest, AFlagThatStaysZeroChangesNothing) {
  const int32_t cancel = 0;
  Control control;
  control.cancel = &cancel;
  EXPECT_TRUE(RunTasks(DefaultPool(), 4, 10, control, [](int, int64_t) {}).ok());
}

struct Poll {
  static int32_t Call(void* user) {
    auto* poll = static_cast<Poll*>(user);
    ++poll->calls;
    if (std::this_thread::get_id() != poll->thread) ++poll->elsewhere;
    return poll->calls >= poll->cancel_at ? 1 : 0;
  }
  Control control() { return {nullptr, Call, this}; }

  const std::thread::id thread = std::this_thread::get_id();
  int cancel_at = std::numeric_limits<int>::max();
  int calls = 0;  // the caller's alone: no other thread may write
  int elsewhere = 0;
};

TEST_F(RunTasksTest, PollRunsOnTheCallingThreadOnly) {
  OtherThreads others;
  for (Executor* executor : {&DefaultPool(), &SerialExecutor(), static_cast<Executor*>(&others)}) {
    for (int64_t tasks : {0, 1, 100}) {
      Poll poll;
      EXPECT_TRUE(RunTasks(*executor, 4, tasks, poll.control(), [](int, int64_t) {}).ok());
      EXPECT_GE(poll.calls, 1);
      EXPECT_EQ(poll.elsewhere, 0);
    }
  }
}

TEST_F(RunTasksTest, PollIsAskedNowAndThen) {
  // Tasks that take longer than the interval: a call before each of them, maybe two at the start.
  Poll slow;
  const auto sleep = [](int, int64_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(6));
  };
  EXPECT_TRUE(RunTasks(DefaultPool(), 1, 5, slow.control(), sleep).ok());
  EXPECT_GE(slow.calls, 5);
  EXPECT_LE(slow.calls, 6);

  Poll fast;
  EXPECT_TRUE(RunTasks(DefaultPool(), 1, 100000, fast.control(), [](int, int64_t) {}).ok());
  EXPECT_LT(fast.calls, 50000);
}

TEST_F(RunTasksTest, PollCancels) {
  for (int slots : {1, 4}) {
    Poll at_once;
    at_once.cancel_at = 1;
    std::atomic<int> ran{0};
    Status status =
        RunTasks(DefaultPool(), slots, 10, at_once.control(), [&](int, int64_t) { ++ran; });
    EXPECT_EQ(status.code(), Code::kCancelled);
    EXPECT_EQ(ran.load(), 0);

    Poll later;
    later.cancel_at = 3;
    status = RunTasks(DefaultPool(), slots, 100000, later.control(), [](int, int64_t) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    EXPECT_EQ(status.code(), Code::kCancelled);
    EXPECT_EQ(later.calls, 3);
    EXPECT_EQ(later.elsewhere, 0);
  }
}

TEST_F(RunTasksTest, AFailureOfTheExecutorIsReported) {
  Failing failing;
  const Status status = RunTasks(failing, 4, 10, kNoControl, [](int, int64_t) {});
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_EQ(status.message(), "parallel_for returned 7");
}

TEST_F(RunTasksTest, TasksThatWereNotRunAreReported) {
  Sloppy none(0, 1);
  const Status status = RunTasks(none, 4, 10, kNoControl, [](int, int64_t) {});
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_NE(status.message().find("0 of 10"), std::string::npos) << status.message();
}

// Slots claim tasks, so a slot that never runs, or runs again, does no harm.
TEST_F(RunTasksTest, SlotsThatAreLostOrRepeatedDoNoHarm) {
  Sloppy one(1, 1);
  RunAndCheck(one, 4, 10);
  Sloppy twice(4, 2);
  RunAndCheck(twice, 4, 10);
}

#if defined(__x86_64__) || defined(__aarch64__)
bool FlushesSubnormals() {
  volatile float tiny = std::numeric_limits<float>::min();
  volatile float product = tiny * 0.25f;
  return product == 0.0f;
}

// By arithmetic: on x86 fegetround() tells of the x87 unit.
bool RoundsUp() {
  volatile double one = 1.0;
  volatile double third = one / 3.0;
  return third > 1.0 / 3.0;
}

int32_t PollState(void* user) {
  auto* wrong = static_cast<int*>(user);
  if (FlushesSubnormals() || !RoundsUp()) ++*wrong;
  return 0;
}

TEST_F(RunTasksTest, OnlyTasksHaveTheirOwnFloatingPointState) {
  for (int slots : {1, 4}) {
    ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
    std::feclearexcept(FE_ALL_EXCEPT);
    int wrong_in_poll = 0;
    const Control control{nullptr, PollState, &wrong_in_poll};
    std::atomic<int> wrong{0};
    const Status status = RunTasks(DefaultPool(), slots, 40, control, [&](int, int64_t) {
      if (!FlushesSubnormals() || RoundsUp()) ++wrong;
      volatile float zero = 0.0f;
      volatile float nan = zero / zero;
      (void)nan;
    });
    const int round = std::fegetround();
    const int invalid = std::fetestexcept(FE_INVALID);
    std::fesetround(FE_TONEAREST);
    EXPECT_TRUE(status.ok());
    EXPECT_EQ(wrong.load(), 0);
    EXPECT_EQ(wrong_in_poll, 0);
    EXPECT_EQ(round, FE_UPWARD);
    EXPECT_EQ(invalid, 0);
    EXPECT_FALSE(FlushesSubnormals());
  }
}
#endif

}  // namespace
}  // namespace dgrad
