// Status: a code and a sentence for people. The codes equal the C interface's.
#ifndef DGRAD_BASE_STATUS_H_
#define DGRAD_BASE_STATUS_H_

#include <cstdint>
#include <string>
#include <utility>

namespace dgrad {

enum class Code : int32_t {
  kOk = 0,
  kInvalidArgument = 1,
  kUnimplemented = 2,
  kOutOfMemory = 3,
  kCancelled = 4,
  kInternal = 5,
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

inline Status InvalidArgument(std::string message) {
  return {Code::kInvalidArgument, std::move(message)};
}
inline Status Unimplemented(std::string message) {
  return {Code::kUnimplemented, std::move(message)};
}
inline Status OutOfMemory(std::string message) { return {Code::kOutOfMemory, std::move(message)}; }
inline Status Cancelled() { return {Code::kCancelled, "the computation was cancelled"}; }
inline Status Internal(std::string message) { return {Code::kInternal, std::move(message)}; }

}  // namespace dgrad

// Returns from the calling function when `expression` is not OK.
#define DGRAD_RETURN_IF_ERROR(expression)          \
  do {                                             \
    ::dgrad::Status dgrad_status_ = (expression);  \
    if (!dgrad_status_.ok()) return dgrad_status_; \
  } while (false)

#endif  // DGRAD_BASE_STATUS_H_
