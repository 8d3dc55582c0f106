#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "src/threads/cgroup.h"
#include "src/threads/executor.h"
#include "src/threads/pool.h"

namespace dgrad {
namespace {

namespace fs = std::filesystem;

// Begins and ends without a choice of threads.
class NumThreadsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* text = getenv("DGRAD_NUM_THREADS")) before_ = text;
    unsetenv("DGRAD_NUM_THREADS");
    SetNumThreads(0);
  }
  void TearDown() override {
    SetNumThreads(0);
    unsetenv("DGRAD_NUM_THREADS");
    if (!before_.empty()) setenv("DGRAD_NUM_THREADS", before_.c_str(), 1);
  }

 private:
  std::string before_;
};

TEST_F(NumThreadsTest, AutomaticIsWithinTheAffinity) {
  cpu_set_t set;
  ASSERT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
  EXPECT_GE(NumThreads(), 1);
  EXPECT_LE(NumThreads(), CPU_COUNT(&set));
  EXPECT_EQ(DefaultPool().concurrency(), NumThreads());
  EXPECT_EQ(SerialExecutor().concurrency(), 1);
}

TEST_F(NumThreadsTest, FollowsTheAffinity) {
  int threads = 0;
  std::thread pinned([&threads] {
    cpu_set_t set;
    ASSERT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
    int cpu = 0;
    while (!CPU_ISSET(cpu, &set)) ++cpu;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    ASSERT_EQ(sched_setaffinity(0, sizeof(set), &set), 0);
    threads = NumThreads();
  });
  pinned.join();
  EXPECT_EQ(threads, 1);
}

TEST_F(NumThreadsTest, TheEnvironmentVariableComesFirst) {
  const int automatic = NumThreads();
  setenv("DGRAD_NUM_THREADS", "5", 1);
  EXPECT_EQ(NumThreads(), 5);
  for (const char* text : {"", "0", "-3", "five", "5x", "5 ", "0x5", "-99999999999999999999"}) {
    setenv("DGRAD_NUM_THREADS", text, 1);
    EXPECT_EQ(NumThreads(), automatic) << text;
  }
  for (const char* text : {"99999", "99999999999999999999"}) {
    setenv("DGRAD_NUM_THREADS", text, 1);
    EXPECT_EQ(NumThreads(), kMaxThreads) << text;
  }
}

TEST_F(NumThreadsTest, ACallComesBeforeTheEnvironment) {
  const int automatic = NumThreads();
  setenv("DGRAD_NUM_THREADS", "5", 1);
  SetNumThreads(3);
  EXPECT_EQ(NumThreads(), 3);
  SetNumThreads(1 << 30);
  EXPECT_EQ(NumThreads(), kMaxThreads);
  SetNumThreads(0);
  EXPECT_EQ(NumThreads(), 5);
  unsetenv("DGRAD_NUM_THREADS");
  EXPECT_EQ(NumThreads(), automatic);
}

// A made-up tree of control groups.
class CgroupTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "dgrad_cgroup_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { fs::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  int Cpus(const std::string& membership) { return CgroupCpus(membership, root_.string()); }

  fs::path root_;
};

TEST_F(CgroupTest, NoQuota) {
  EXPECT_EQ(Cpus(""), 0);
  EXPECT_EQ(Cpus("nonsense\n::\n0:\n"), 0);
  EXPECT_EQ(Cpus("0::/\n"), 0);
  Write("a/cpu.max", "max 100000\n");
  Write("cpu/b/cpu.cfs_quota_us", "-1\n");
  Write("cpu/b/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Cpus("0::/a\n3:cpu:/b\n"), 0);
}

TEST_F(CgroupTest, Version2RoundsUp) {
  Write("a/cpu.max", "250000 100000\n");
  Write("b/cpu.max", "1000 100000\n");
  Write("c/cpu.max", "400000 100000\n");
  EXPECT_EQ(Cpus("0::/a\n"), 3);
  EXPECT_EQ(Cpus("0::/b\n"), 1);
  EXPECT_EQ(Cpus("0::/c"), 4);
  EXPECT_EQ(Cpus("0::/ab\n"), 0);
}

TEST_F(CgroupTest, TheTightestAncestorCounts) {
  Write("cpu.max", "800000 100000\n");
  Write("a/cpu.max", "300000 100000\n");
  Write("a/b/cpu.max", "max 100000\n");
  Write("a/b/c/cpu.max", "500000 100000\n");
  EXPECT_EQ(Cpus("0::/a/b/c\n"), 3);
  EXPECT_EQ(Cpus("0::/x\n"), 8);
  EXPECT_EQ(Cpus("0::/\n"), 8);
}

TEST_F(CgroupTest, PathsOfTheHostEndAtTheMount) {
  Write("cpu.max", "200000 100000\n");
  EXPECT_EQ(Cpus("0::/docker/0123/4\n"), 2);
  EXPECT_EQ(Cpus("0::/../../other\n"), 2);
}

TEST_F(CgroupTest, Version1) {
  Write("cpu,cpuacct/a/cpu.cfs_quota_us", "150000\n");
  Write("cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
  Write("cpu/b/cpu.cfs_quota_us", "50000\n");
  Write("cpu/b/cpu.cfs_period_us", "10000\n");
  EXPECT_EQ(Cpus("12:memory:/a\n4:cpu,cpuacct:/a\n0::/\n"), 2);
  EXPECT_EQ(Cpus("4:cpuacct,cpu:/b\n"), 5);
  EXPECT_EQ(Cpus("1:cpu:/b\n"), 5);
  EXPECT_EQ(Cpus("1:cpuset:/b\n2:cpuacct:/b\n"), 0);
}

TEST_F(CgroupTest, BothVersions) {
  Write("a/cpu.max", "700000 100000\n");
  Write("cpu/a/cpu.cfs_quota_us", "600000\n");
  Write("cpu/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Cpus("1:cpu:/a\n0::/a\n"), 6);
}

}  // namespace
}  // namespace dgrad
