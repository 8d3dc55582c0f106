// Memory of results. It begins on a line of cache: stores across two lines cost up to a quarter of
// a short computation. What a large array gives back is kept for the next result of the same size:
// fresh pages would cost the kernel and the caller a fifth.
#ifndef DGRAD_PYTHON_BINDINGS_RESULT_MEMORY_H_
#define DGRAD_PYTHON_BINDINGS_RESULT_MEMORY_H_

#include <nanobind/nanobind.h>

#include <cstddef>

namespace dgrad_python {

// Once, after NumPy's C interface was loaded.
void InitResultMemory();

// While it lives, arrays of at least kAlignedFrom bytes that this thread makes take their memory
// here (a NumPy data handler, NEP 49; they own it like any array), and memory of at least
// kPooledFrom bytes is kept. Not if the caller has a handler set.
class UseResultMemory {
 public:
  static constexpr size_t kAlignedFrom = size_t{16} << 10;
  static constexpr size_t kPooledFrom = size_t{4} << 20;

  explicit UseResultMemory(size_t bytes);
  ~UseResultMemory();
  UseResultMemory(const UseResultMemory&) = delete;
  UseResultMemory& operator=(const UseResultMemory&) = delete;

 private:
  PyObject* before_ = nullptr;
};

// Frees what is kept.
void TrimResultMemory();

}  // namespace dgrad_python

#endif  // DGRAD_PYTHON_BINDINGS_RESULT_MEMORY_H_
