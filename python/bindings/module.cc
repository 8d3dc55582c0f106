// The module _dgrad: the C interface in Python's types. dgrad/*.py give it names and words.
#include <dgrad/dgrad.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <limits>
#include <string>
#include <vector>

#include "arguments.h"
#include "errors.h"
#include "plan.h"
#include "result_memory.h"
#include "run.h"
#include "tensor.h"

namespace dgrad_python {
namespace {

// Both tensors, each a nested list with the type of the other one if that is an array. Two lists:
// the filter's type.
void ReadTensors(nb::handle filter_object, nb::handle out_backprop_object, Tensor* filter,
                 Tensor* out_backprop) {
  if (filter_object.is_none()) {
    ThrowInvalid("filter is missing: give an array as filter or as filters");
  }
  if (IsNestedList(filter_object) && !IsNestedList(out_backprop_object)) {
    *out_backprop = ReadTensor(out_backprop_object, "out_backprop");
    *filter = ReadTensor(filter_object, "filter", out_backprop->dtype);
  } else {
    *filter = ReadTensor(filter_object, "filter");
    *out_backprop = ReadTensor(out_backprop_object, "out_backprop", filter->dtype);
  }
}

void CheckName(nb::handle name) {
  if (!name.is_none() && !PyUnicode_Check(name.ptr())) {
    ThrowType("name must be a string or None; given " + Describe(name));
  }
}

nb::object Conv2DBackpropInput(nb::handle input_sizes, nb::handle filter, nb::handle out_backprop,
                               nb::handle strides, nb::handle padding, nb::handle use_cudnn_on_gpu,
                               nb::handle data_format, nb::handle dilations, nb::handle name,
                               nb::handle filters, nb::handle out, nb::handle threads,
                               nb::handle accuracy) {
  if (!filter.is_none() && !filters.is_none()) {
    ThrowInvalid("filter and filters are the same argument: give one of them");
  }
  Geometry::CheckPaddingForm(padding);
  const Geometry geometry(strides, padding, use_cudnn_on_gpu, data_format, dilations);
  CheckName(name);
  dgrad_plan_options options = {};
  options.struct_size = sizeof(options);
  options.threads = ToThreads(threads);
  options.accuracy = ToAccuracy(accuracy);

  Tensor weights;
  Tensor incoming;
  ReadTensors(filter.is_none() ? filters : filter, out_backprop, &weights, &incoming);
  const std::vector<int64_t> sizes = ToSizes(input_sizes, "input_sizes");

  dgrad_arguments arguments = {};
  arguments.struct_size = sizeof(arguments);
  geometry.Fill(&arguments);
  CheckDType(weights);
  CheckDType(incoming);
  if (weights.dtype != incoming.dtype) {
    ThrowInvalid(std::string("filter and out_backprop must be of one type; given ") +
                 DTypeName(weights.dtype) + " and " + DTypeName(incoming.dtype));
  }
  arguments.dtype = weights.dtype;
  arguments.input_sizes = sizes.data();
  arguments.input_sizes_count = sizes.size();
  arguments.filter_shape = weights.shape.data();
  arguments.filter_rank = weights.shape.size();
  arguments.out_backprop_shape = incoming.shape.data();
  arguments.out_backprop_rank = incoming.shape.size();

  const ProblemHandle problem = CreateProblem(arguments);
  const dgrad_problem_info info = GetInfo(problem.get());
  const PlanHandle plan = CreatePlan(problem.get(), options);  // from the library's cache
  return Run(info, plan.get(), &weights, nullptr, &incoming, out);
}

void SetNumThreads(nb::handle threads) {
  const int64_t count = ToInteger(threads, "threads");
  if (count < 0 || count > std::numeric_limits<int32_t>::max()) {
    ThrowInvalid("threads must be 0 (automatic) or an integer from 1 to 1024; given " +
                 std::to_string(count));
  }
  CheckStatus(dgrad_set_num_threads(static_cast<int32_t>(count)));
}

void Trim() {
  dgrad_trim();
  TrimResultMemory();
}

std::string Info() {
  return ReadText(
      [](char* buffer, uint64_t bytes, uint64_t* size) { return dgrad_info(buffer, bytes, size); });
}

}  // namespace
}  // namespace dgrad_python

NB_MODULE(_dgrad, module) {
  namespace py = dgrad_python;
  namespace nb = nanobind;
  // A daemon thread that computes while the interpreter ends leaves its objects behind.
  nb::set_leak_warnings(false);
  py::RegisterErrors();
  py::InitTensors();
  module.def("conv2d_backprop_input", &py::Conv2DBackpropInput, nb::arg().none(), nb::arg().none(),
             nb::arg().none(), nb::arg().none(), nb::arg().none(), nb::arg().none(),
             nb::arg().none(), nb::arg().none(), nb::arg().none(), nb::arg().none(),
             nb::arg().none(), nb::arg().none(), nb::arg().none());
  module.def("set_num_threads", &py::SetNumThreads, nb::arg().none());
  module.def("get_num_threads", &dgrad_get_num_threads);
  module.def("info", &py::Info);
  module.def("trim", &py::Trim);
  module.def("version", &dgrad_version);
  py::BindPlan(module);
}
