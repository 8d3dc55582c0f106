#include <sched.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "src/base/lazy.h"
#include "src/threads/cgroup.h"
#include "src/threads/executor.h"
#include "src/threads/pool.h"

namespace dgrad {
namespace {

std::atomic<int> chosen{0};  // by SetNumThreads; 0: nobody chose

// CPUs this thread may run on. Asked each time, for it costs little and programs change it.
int AffinityCpus() {
#if defined(__linux__)
  // The kernel refuses a set that is too small for its own; 1024 CPUs do nearly everywhere.
  for (int cpus = 1024; cpus <= 1 << 18; cpus *= 4) {
    cpu_set_t* set = CPU_ALLOC(cpus);
    if (set == nullptr) break;
    const size_t bytes = CPU_ALLOC_SIZE(cpus);
    const int count = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (count > 0) return count;
  }
#endif
  return static_cast<int>(std::thread::hardware_concurrency());  // 0: unknown
}

int QuotaCpus() {
  std::ifstream file("/proc/self/cgroup");
  const std::string membership{std::istreambuf_iterator<char>(file), {}};
  return CgroupCpus(membership, "/sys/fs/cgroup");
}

// DGRAD_NUM_THREADS, 0 when it is unset or not a positive number.
int EnvironmentThreads() {
  const char* text = std::getenv("DGRAD_NUM_THREADS");
  if (text == nullptr) return 0;
  const char* end = text + std::strlen(text);
  int threads = 0;
  const auto [rest, error] = std::from_chars(text, end, threads);
  if (rest != end) return 0;
  if (error == std::errc::result_out_of_range && *text != '-') return kMaxThreads;
  return error == std::errc() ? std::max(threads, 0) : 0;
}

}  // namespace

int NumThreads() {
  int threads = chosen.load(std::memory_order_relaxed);
  if (threads <= 0) threads = EnvironmentThreads();
  if (threads <= 0) {
    threads = AffinityCpus();
    const int quota = Lazy<QuotaCpus>();
    if (quota > 0) threads = std::min(threads, quota);
  }
  return std::clamp(threads, 1, kMaxThreads);
}

void SetNumThreads(int threads) { chosen.store(threads, std::memory_order_relaxed); }

}  // namespace dgrad
