#include "gil.h"

#include <nanobind/nanobind.h>

#include <thread>

namespace dgrad_python {
namespace {

namespace nb = nanobind;

// How often the GIL is taken to look for signals. With other Python threads busy each time may wait
// for the interpreter's switch interval (5 ms), so this is ten times that.
constexpr std::chrono::milliseconds kSignalInterval(50);

bool OnMainThread() {
  const nb::module_ threading = nb::module_::import_("threading");
  const nb::object ident = threading.attr("main_thread")().attr("ident");
  return PyLong_AsUnsignedLong(ident.ptr()) == PyThread_get_thread_ident();
}

// In an interpreter that ends, CPython before 3.14 ends a daemon thread here by pthread_exit, whose
// unwinding must not run through our frames (the workers may still use them) nor through noexcept
// functions. So the thread waits for the end of the process instead, as it does from 3.14 on.
void TakeGil(PyThreadState* state) {
  try {
    PyEval_RestoreThread(state);
  } catch (...) {
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }
}

}  // namespace

WithoutGil::WithoutGil() : state_(PyEval_SaveThread()), next_(Clock::now() + kSignalInterval) {}
WithoutGil::~WithoutGil() { TakeGil(state_); }

int32_t WithoutGil::Poll(void* self) { return static_cast<WithoutGil*>(self)->CheckSignals(); }

int32_t WithoutGil::CheckSignals() {
  if (quiet_) return raised_;
  if (Clock::now() < next_) return 0;
  TakeGil(state_);
  try {
    // Handlers run on the main thread only; elsewhere asking again is a waste.
    if (first_ && !OnMainThread()) quiet_ = true;
  } catch (nb::python_error&) {
    PyErr_Clear();
  }
  first_ = false;
  if (!quiet_ && PyErr_CheckSignals() != 0) {
    raised_ = 1;
    quiet_ = true;  // the exception stays set until the run is over
  }
  state_ = PyEval_SaveThread();
  next_ = Clock::now() + kSignalInterval;
  return raised_;
}

}  // namespace dgrad_python
