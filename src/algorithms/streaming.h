// Results that are written past the caches.
//
// An ordinary store reads its line of memory first and pushes others out of the caches. Results too
// large to stay in a cache until somebody reads them gain nothing from it.
#ifndef DGRAD_ALGORITHMS_STREAMING_H_
#define DGRAD_ALGORITHMS_STREAMING_H_

#include <cstdint>
#include <cstring>

#include "src/problem/problem.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace dgrad {

// Whether all of in_backprop is worth streaming and lies on lines of cache as the kernels'
// streaming stores need it (kernels/gemm/gemm.h, kernels/transpose/transpose.h): every run of
// neighbouring channels of NHWC begins on one, every plane of NCHW. Runs are those of a group, or
// all channels where vectors don't begin with the groups.
inline bool StreamsResult(const Problem& problem, const void* in_backprop,
                          bool runs_are_groups = true) {
  constexpr int64_t kLeastBytes = int64_t{4} << 20;  // the second caches of a few cores
  constexpr int64_t kLine = 64;
  const int64_t run = problem.layout == Layout::kNchw ? problem.rows.in * problem.columns.in
                      : runs_are_groups               ? problem.group_in_channels()
                                                      : problem.in_channels;
  return problem.in_backprop_bytes() >= kLeastBytes && run * SizeOf(problem.dtype) % kLine == 0 &&
         reinterpret_cast<uintptr_t>(in_backprop) % kLine == 0;
}

// Zeros past the caches, of whole lines.
inline void StreamZeros(void* to, int64_t bytes) {
#if defined(__x86_64__)
  auto* at = static_cast<__m128i*>(to);
  for (int64_t i = 0; i < bytes; i += static_cast<int64_t>(sizeof(__m128i)), ++at) {
    _mm_stream_si128(at, _mm_setzero_si128());
  }
#else
  std::memset(to, 0, static_cast<size_t>(bytes));
#endif
}

// To be called after the last streaming store of a task: others may read it then.
inline void FenceStreams() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace dgrad

#endif  // DGRAD_ALGORITHMS_STREAMING_H_
