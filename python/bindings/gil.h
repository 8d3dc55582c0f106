// Computing without the GIL, with Python's signal handlers run now and then.
#ifndef DGRAD_PYTHON_BINDINGS_GIL_H_
#define DGRAD_PYTHON_BINDINGS_GIL_H_

#include <Python.h>

#include <chrono>
#include <cstdint>

namespace dgrad_python {

// Releases the GIL for its lifetime. Should the interpreter end meanwhile, the thread stops for
// good at the next attempt to take it.
class WithoutGil {
 public:
  WithoutGil();
  ~WithoutGil();
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

  // dgrad_run_arguments::poll, `self` a WithoutGil. Non-zero: a handler raised an exception, which
  // is set; look with PyErr_Occurred() afterwards.
  static int32_t Poll(void* self);

 private:
  using Clock = std::chrono::steady_clock;

  int32_t CheckSignals();

  PyThreadState* state_;
  Clock::time_point next_;
  bool first_ = true;
  bool quiet_ = false;
  int32_t raised_ = 0;
};

}  // namespace dgrad_python

#endif  // DGRAD_PYTHON_BINDINGS_GIL_H_
