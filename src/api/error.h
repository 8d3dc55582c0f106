// The last error of each thread, and the wall that keeps exceptions inside the library.
#ifndef DGRAD_API_ERROR_H_
#define DGRAD_API_ERROR_H_

#include <dgrad/dgrad.h>

#include <exception>
#include <new>
#include <string_view>
#include <utility>

#include "src/base/status.h"

namespace dgrad {

// Bytes of the thread-local text, the terminating zero included.
inline constexpr int kLastErrorBytes = 1024;

// Stores the text for dgrad_last_error(). A longer one is cut at a UTF-8 boundary and ends in
// "...".
void SetLastError(std::string_view text) noexcept;

// Stores the message of a failure; OK leaves the last error as it is.
dgrad_status Report(const Status& status) noexcept;

// Runs the body of an entry point, a callable that returns Status.
template <typename Body>
dgrad_status Guard(Body&& body) noexcept {
  try {
    return Report(std::forward<Body>(body)());
  } catch (const std::bad_alloc&) {
    SetLastError("memory for the library's own bookkeeping could not be allocated");
    return DGRAD_OUT_OF_MEMORY;
  } catch (const std::exception& error) {
    SetLastError(error.what());
    return DGRAD_INTERNAL;
  } catch (...) {
    SetLastError("an exception of unknown type reached the C interface");
    return DGRAD_INTERNAL;
  }
}

}  // namespace dgrad

#endif  // DGRAD_API_ERROR_H_
