// Failures of the bindings: a C++ exception that becomes the Python exception of its kind.
#ifndef DGRAD_PYTHON_BINDINGS_ERRORS_H_
#define DGRAD_PYTHON_BINDINGS_ERRORS_H_

#include <dgrad/dgrad.h>
#include <nanobind/nanobind.h>

#include <stdexcept>
#include <string>

namespace dgrad_python {

namespace nb = nanobind;

enum class Kind {
  kInvalidArgument,  // dgrad.InvalidArgumentError, a ValueError
  kUnimplemented,    // dgrad.UnimplementedError, a NotImplementedError
  kType,             // TypeError
  kMemory,           // MemoryError
  kCancelled,        // dgrad.CancelledError, a RuntimeError
  kInternal          // RuntimeError
};

class Failure : public std::runtime_error {
 public:
  Failure(Kind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

[[noreturn]] void ThrowInvalid(const std::string& message);
[[noreturn]] void ThrowType(const std::string& message);

// Throws a Failure with the library's last message unless status is DGRAD_OK.
void CheckStatus(dgrad_status status);

// Turns the Python exception in flight into "argument: its text" as an InvalidArgumentError whose
// cause it is; MemoryError and what is no Exception (KeyboardInterrupt) pass unchanged.
[[noreturn]] void ThrowWithCause(const char* argument);

// "1 (int)", "'same' (str)" or "an object of type dict": what was given, for messages.
std::string Describe(nb::handle value);

// Teaches nanobind to translate Failure. The classes come from dgrad.errors.
void RegisterErrors();

}  // namespace dgrad_python

#endif  // DGRAD_PYTHON_BINDINGS_ERRORS_H_
