// bench_machine [--threads N]
//
// What this machine can do at this moment, as JSON: FMA peaks (of bfloat16 where the library
// multiplies pairs of it; else it has that of float32), and bandwidths of memory and of the
// caches, with all threads. The roofline of docs/performance.md is drawn from it.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "cli/peak.h"
#include "machine_pairs.h"
#include "src/base/cache_size.h"

namespace {

using Clock = std::chrono::steady_clock;

// Read: sums of 64-bit words in eight chains, which the compiler turns into vectors.
uint64_t ReadAll(const std::vector<uint64_t>& words) {
  uint64_t sums[8] = {};
  for (size_t i = 0; i + 8 <= words.size(); i += 8) {
    for (size_t j = 0; j < 8; ++j) sums[j] += words[i + j];
  }
  uint64_t sum = 0;
  for (const uint64_t part : sums) sum += part;
  return sum;
}

enum class Access { kRead, kWrite, kCopy };

// Bytes a second of all threads, each with `bytes` of its own; the best of several rounds. A copied
// byte counts twice, as read and as written.
double Bandwidth(Access access, int64_t bytes, int threads) {
  const size_t words =
      static_cast<size_t>(bytes) / sizeof(uint64_t) / (access == Access::kCopy ? 2 : 1);
  const int64_t repeats = std::max<int64_t>(1, (int64_t{256} << 20) / bytes);
  constexpr int kRounds = 5;
  std::latch ready(threads);
  std::vector<double> rates(static_cast<size_t>(threads));
  const auto work = [&](double& rate) {
    std::vector<uint64_t> from(words, 1), to(access == Access::kRead ? 0 : words);
    ready.arrive_and_wait();
    for (int round = 0; round < kRounds; ++round) {
      const Clock::time_point start = Clock::now();
      for (int64_t i = 0; i < repeats; ++i) {
        if (access == Access::kRead) {
          volatile uint64_t sink = ReadAll(from);
          (void)sink;
        } else if (access == Access::kWrite) {
          std::memset(to.data(), static_cast<int>(i), words * sizeof(uint64_t));
        } else {
          std::memcpy(to.data(), from.data(), words * sizeof(uint64_t));
        }
        __asm__ volatile("" : : "r"(from.data()), "r"(to.data()) : "memory");
      }
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      const double moved = static_cast<double>(words * sizeof(uint64_t)) *
                           (access == Access::kCopy ? 2 : 1) * static_cast<double>(repeats);
      rate = std::max(rate, moved / seconds);
    }
  };
  std::vector<std::thread> others;
  for (size_t i = 1; i < rates.size(); ++i) others.emplace_back(work, std::ref(rates[i]));
  work(rates[0]);
  for (std::thread& other : others) other.join();
  double sum = 0;
  for (const double rate : rates) sum += rate;
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  int threads = dgrad::num_threads();
  if (argc == 3 && std::strcmp(argv[1], "--threads") == 0) {
    threads = std::max(1, std::atoi(argv[2]));
  } else if (argc != 1) {
    std::fprintf(stderr, "usage: %s [--threads N]\n", argv[0]);
    return 2;
  }
  // What the library would use, from a plan.
  const dgrad::Isa isa = dgrad::Plan(dgrad::Problem("h1w1c1_k1x1_oc1")).isa();
  std::printf("{\"format\": \"dgrad-machine-1\",\n\"info\": %s,\n\"threads\": %d,\n",
              dgrad::info().c_str(), threads);
  std::printf("\"gflops\": {\"float32\": %.4g, \"float64\": %.4g",
              dgrad::cli::MeasurePeak(isa, dgrad::Dtype::kFloat32, threads),
              dgrad::cli::MeasurePeak(isa, dgrad::Dtype::kFloat64, threads));
  if (isa == dgrad::Isa::kAvx512 && dgrad::bench::MultipliesPairs()) {
    std::printf(", \"bfloat16\": %.4g",
                dgrad::cli::MeasureRate(&dgrad::bench::MultiplyPairs, threads));
  }
  std::printf("},\n");
  const dgrad::CacheSizes& caches = dgrad::GetCacheSizes();
  const struct {
    const char* name;
    int64_t bytes;  // of a thread
  } levels[] = {
      {"l2", caches.l2 / 2},
      {"l3", std::max(2 * caches.l2, caches.l3 / 2 / threads)},
      {"memory", std::clamp(4 * caches.l3, int64_t{128} << 20, int64_t{1} << 30) / threads}};
  std::printf("\"gigabytes_per_second\": {");
  const char* separator = "";
  for (const auto& level : levels) {
    std::printf("%s\n  \"%s\": {\"bytes\": %lld, \"read\": %.4g, \"write\": %.4g, \"copy\": %.4g}",
                separator, level.name, static_cast<long long>(level.bytes * threads),
                1e-9 * Bandwidth(Access::kRead, level.bytes, threads),
                1e-9 * Bandwidth(Access::kWrite, level.bytes, threads),
                1e-9 * Bandwidth(Access::kCopy, level.bytes, threads));
    separator = ",";
  }
  std::printf("}}\n");
  return 0;
}
