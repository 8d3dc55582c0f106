// The default pool beyond the Executor interface. DefaultPool() itself is in executor.h.
#ifndef DGRAD_THREADS_POOL_H_
#define DGRAD_THREADS_POOL_H_

#include <cstdint>

#include "src/base/function_ref.h"
#include "src/base/status.h"

namespace dgrad {

// No more threads than this serve the library, whatever is asked for.

// DefaultPool().ParallelFor on at most `threads` threads, the caller's among them, where that one
// stops at NumThreads(). No more than kMaxThreads take part. Workers start when too few are idle;
// the pool has at most as many as NumThreads() and the largest `threads` call for, and never
// shrinks.
Status ParallelForOnPool(int threads, int64_t count, FunctionRef<void(int64_t)> task);

// Workers started so far in this process.
int DefaultPoolWorkers();

}  // namespace dgrad

#endif  // DGRAD_THREADS_POOL_H_
