#include "peak.h"

#include <algorithm>
#include <chrono>
#include <latch>
#include <thread>
#include <vector>

namespace dgrad::cli {
namespace {

constexpr double kSeconds = 0.01;

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

const PeakLoops& LoopsOf([[maybe_unused]] Isa isa) {
#if defined(DGRAD_CLI_X86)
  if (isa == Isa::kAvx512) return kPeakAvx512;
  if (isa == Isa::kAvx2) return kPeakAvx2;
#endif
  return kPeakBase;
}

}  // namespace

double MeasurePeak(Isa isa, Dtype dtype, int32_t threads) {
  const PeakLoops& loops = LoopsOf(isa);
  return MeasureRate(dtype == Dtype::kFloat64 ? loops.f64
                     : dtype == Dtype::kInt32 ? loops.i32
                                              : loops.f32,
                     threads);
}

double MeasureRate(int64_t (*loop)(int64_t rounds), int32_t threads) {
  // How many rounds fill the time; the first ones also warm the vector units up.
  int64_t rounds = 1 << 12;
  for (;;) {
    const Clock::time_point start = Clock::now();
    loop(rounds);
    const double seconds = SecondsSince(start);
    if (seconds > kSeconds / 4) {
      rounds = static_cast<int64_t>(static_cast<double>(rounds) * kSeconds / seconds);
      break;
    }
    rounds *= 2;
  }
  // All threads begin together; each is rated by its own time, so that the start of the last one
  // does not count.
  const auto processors = static_cast<int32_t>(std::thread::hardware_concurrency());
  const int32_t count = std::clamp(threads, 1, std::max(processors, 1));
  std::vector<double> rates(static_cast<size_t>(count));
  std::latch ready(count);
  const auto work = [&](size_t index) {
    ready.arrive_and_wait();
    const Clock::time_point start = Clock::now();
    const int64_t in_round = loop(rounds);
    rates[index] =
        2e-9 * static_cast<double>(in_round) * static_cast<double>(rounds) / SecondsSince(start);
  };
  std::vector<std::thread> others;
  for (size_t i = 1; i < rates.size(); ++i) others.emplace_back(work, i);
  work(0);
  for (std::thread& other : others) other.join();
  double sum = 0;
  for (const double rate : rates) sum += rate;
  return sum;
}

}  // namespace dgrad::cli
