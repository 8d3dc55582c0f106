#include "src/plan/plan_cache.h"

#include <array>
#include <cstdint>
#include <utility>

#include "src/plan/try_lock.h"

namespace dgrad {
namespace {

constexpr int kEntries = 128;  // more than the layers of most networks; the search is linear

struct Entry {
  uint64_t used = 0;  // time of the last use, 0: empty
  PlanKey key;
  std::shared_ptr<const Plan> plan;
};

struct Cache {
  TryLock lock;
  uint64_t now = 0;
  std::array<Entry, kEntries> entries;
};

Cache& TheCache() {
  static Cache& cache = *new Cache();  // never destroyed: threads may outlive main
  return cache;
}

}  // namespace

std::shared_ptr<const Plan> FindPlan(const PlanKey& key) {
  Cache& cache = TheCache();
  const TryLock::Guard guard(cache.lock);
  if (!guard) return nullptr;
  for (Entry& entry : cache.entries) {
    if (entry.used != 0 && entry.key == key) {
      entry.used = ++cache.now;
      return entry.plan;
    }
  }
  return nullptr;
}

void RememberPlan(const PlanKey& key, std::shared_ptr<const Plan> plan) {
  Entry fresh{0, key, std::move(plan)};  // after the swap: the old entry, freed after the lock
  Cache& cache = TheCache();
  const TryLock::Guard guard(cache.lock);
  if (!guard) return;
  Entry* oldest = &cache.entries[0];
  for (Entry& entry : cache.entries) {
    if (entry.used < oldest->used) oldest = &entry;
  }
  fresh.used = ++cache.now;
  std::swap(*oldest, fresh);
}

void ForgetPlans() {
  std::array<Entry, kEntries> dropped;
  Cache& cache = TheCache();
  const TryLock::Guard guard(cache.lock);
  if (guard) std::swap(dropped, cache.entries);
}

}  // namespace dgrad
