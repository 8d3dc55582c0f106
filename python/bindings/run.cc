#include "run.h"

#include <chrono>

namespace dgrad_python {
namespace {

using Clock = std::chrono::steady_clock;

// How often the GIL is taken to look for signals. With other Python threads busy each time may wait
// for the interpreter's switch interval (5 ms), so this is ten times that.
constexpr std::chrono::milliseconds kSignalInterval(50);

bool OnMainThread() {
  const nb::module_ threading = nb::module_::import_("threading");
  const nb::object ident = threading.attr("main_thread")().attr("ident");
  return PyLong_AsUnsignedLong(ident.ptr()) == PyThread_get_thread_ident();
}

// Releases the GIL for its lifetime and runs signal handlers from the library's poll.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()), next_(Clock::now() + kSignalInterval) {}
  ~WithoutGil() { PyEval_RestoreThread(state_); }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

  // dgrad_run_arguments::poll. Non-zero: a handler raised, and its exception is set.
  static int32_t Poll(void* self) { return static_cast<WithoutGil*>(self)->CheckSignals(); }

 private:
  int32_t CheckSignals() {
    if (quiet_) return raised_;
    const Clock::time_point now = Clock::now();
    if (now < next_) return 0;
    PyEval_RestoreThread(state_);
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

  PyThreadState* state_;
  Clock::time_point next_;
  bool first_ = true;
  bool quiet_ = false;
  int32_t raised_ = 0;
};

}  // namespace

ProblemHandle CreateProblem(const dgrad_arguments& arguments) {
  dgrad_problem* problem = nullptr;
  CheckStatus(dgrad_problem_create(&arguments, &problem));
  return ProblemHandle(problem);
}

dgrad_problem_info GetInfo(const dgrad_problem* problem) {
  dgrad_problem_info info = {};
  info.struct_size = sizeof(info);
  CheckStatus(dgrad_problem_get_info(problem, &info));
  return info;
}

PlanHandle CreatePlan(const dgrad_problem* problem, const dgrad_plan_options& options) {
  dgrad_plan* plan = nullptr;
  CheckStatus(dgrad_plan_create(problem, &options, &plan));
  return PlanHandle(plan);
}

nb::object Run(const dgrad_problem_info& problem, const dgrad_plan* plan, Tensor* filter,
               const dgrad_packed_filter* packed, Tensor* out_backprop, nb::handle out) {
  if (!out.is_none()) {  // before Contiguous: the caller's arrays are compared, not our copies
    CheckOut(out, problem.dtype, problem.in_backprop_shape, out_backprop, 1);
    if (filter != nullptr) CheckOut(out, problem.dtype, problem.in_backprop_shape, filter, 1);
  }
  dgrad_run_arguments run = {};
  run.struct_size = sizeof(run);
  run.out_backprop = Contiguous(out_backprop);
  run.out_backprop_bytes = SizeInBytes(*out_backprop);
  if (filter != nullptr) {
    run.filter = Contiguous(filter);
    run.filter_bytes = SizeInBytes(*filter);
  }
  run.packed_filter = packed;
  nb::object result =
      out.is_none() ? NewArray(problem.dtype, problem.in_backprop_shape) : nb::borrow(out);
  run.in_backprop = MutableData(result);
  run.in_backprop_bytes = problem.in_backprop_bytes;

  dgrad_status status = DGRAD_OK;
  {
    WithoutGil without_gil;
    run.poll = &WithoutGil::Poll;
    run.poll_user = &without_gil;
    status = dgrad_run(plan, &run);
  }
  if (PyErr_Occurred()) throw nb::python_error();
  CheckStatus(status);
  return result;
}

}  // namespace dgrad_python
