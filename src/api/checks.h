// Checks of what only this layer sees: pointers, lengths, alignment, overlap, text buffers.
#ifndef DGRAD_API_CHECKS_H_
#define DGRAD_API_CHECKS_H_

#include <cstdint>
#include <string_view>

#include "src/base/dtype.h"
#include "src/base/status.h"

namespace dgrad {

// Memory that a call touches.
struct Region {
  const char* name;
  const void* data;
  int64_t bytes;
};

// given_bytes: what the caller says lies at data; needed_bytes: what the call touches. Null is
// legal when both are 0.
Status CheckLength(const char* name, const void* data, uint64_t given_bytes, int64_t needed_bytes);

// CheckLength, and the alignment of the element type. A tensor of 0 bytes may lie anywhere.
Status CheckTensor(const char* name, const void* data, uint64_t given_bytes, int64_t needed_bytes,
                   DType dtype);

// Regions of 0 bytes overlap nothing.
Status CheckDisjoint(const Region& a, const Region& b);

// For a pointer through which a result is handed out.
Status CheckOutput(const char* name, const void* pointer);

// The convention of all text results: *size receives the bytes with the zero; a buffer that is null
// or too small is left alone, which is an error only when size is null too.
Status WriteText(std::string_view text, char* buffer, uint64_t buffer_bytes, uint64_t* size);

}  // namespace dgrad

#endif  // DGRAD_API_CHECKS_H_
