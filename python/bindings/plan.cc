#include "plan.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "gil.h"
#include "run.h"

namespace dgrad_python {
namespace {

nb::tuple ToTuple(const int64_t* values) {
  return nb::make_tuple(values[0], values[1], values[2], values[3]);
}

// The plan's dtype argument, which Python has turned into a numpy.dtype.
dgrad_dtype PlanDType(nb::handle dtype) {
  const dgrad_dtype type = ToDType(dtype);
  if (type == 0) {
    ThrowInvalid(
        "dtype must be float16, bfloat16, float32, float64 or int32, in native byte order; given " +
        std::string(nb::str(dtype).c_str()));
  }
  return type;
}

class PackedFilter {
 public:
  PackedFilter(PackedFilterHandle handle, uint64_t bytes, std::string text)
      : handle_(std::move(handle)), bytes_(bytes), text_(std::move(text)) {}

  const dgrad_packed_filter* get() const { return handle_.get(); }
  uint64_t bytes() const { return bytes_; }
  std::string Repr() const {
    return "<dgrad.PackedFilter " + text_ + ", " + std::to_string(bytes_) + " bytes>";
  }

 private:
  PackedFilterHandle handle_;
  uint64_t bytes_;
  std::string text_;
};

class Plan {
 public:
  Plan(nb::handle input_sizes, nb::handle filter_shape, nb::handle strides, nb::handle padding,
       nb::handle data_format, nb::handle dilations, nb::handle dtype, nb::handle threads,
       nb::handle accuracy, nb::handle isa, nb::handle workspace_limit) {
    Geometry::CheckPaddingForm(padding);
    const Geometry geometry(strides, padding, nb::handle(), data_format, dilations);
    dgrad_plan_options options = {};
    options.struct_size = sizeof(options);
    options.threads = ToThreads(threads);
    options.accuracy = ToAccuracy(accuracy);
    options.isa = ToIsa(isa);
    options.workspace_limit = ToWorkspaceLimit(workspace_limit);
    options.filter_packed = 1;  // a plan is kept to be used again and again
    const std::vector<int64_t> sizes = ToSizes(input_sizes, "input_sizes");
    const std::vector<int64_t> shape = ToSizes(filter_shape, "filter_shape");

    dgrad_arguments arguments = {};
    arguments.struct_size = sizeof(arguments);
    arguments.input_sizes = sizes.data();
    arguments.input_sizes_count = sizes.size();
    arguments.filter_shape = shape.data();
    arguments.filter_rank = shape.size();
    geometry.Fill(&arguments);
    arguments.dtype = PlanDType(dtype);

    const ProblemHandle problem = CreateProblem(arguments);
    problem_ = GetInfo(problem.get());
    text_ = ReadText([&](char* buffer, uint64_t bytes, uint64_t* size) {
      return dgrad_problem_to_string(problem.get(), buffer, bytes, size);
    });
    plan_ = CreatePlan(problem.get(), options);
    info_.struct_size = sizeof(info_);
    CheckStatus(dgrad_plan_get_info(plan_.get(), &info_));
  }

  PackedFilter Pack(nb::handle filter) const {
    Tensor tensor = ReadTensor(filter, "filter", problem_.dtype);
    CheckTensor(tensor, problem_.filter_shape);
    const void* data = Contiguous(&tensor);
    const uint64_t bytes = SizeInBytes(tensor);
    dgrad_packed_filter* packed = nullptr;
    dgrad_status status = DGRAD_OK;
    {
      const WithoutGil without_gil;
      status = dgrad_packed_filter_create(plan_.get(), data, bytes, nullptr, 0, &packed);
    }
    CheckStatus(status);
    return {PackedFilterHandle(packed), info_.packed_filter_bytes, text_};
  }

  nb::object Call(nb::handle filter, nb::handle out_backprop, nb::handle out) const {
    if (nb::isinstance<PackedFilter>(filter)) {
      if (!nb::inst_ready(filter))
        throw nb::type_error("filter is a PackedFilter that no plan made");
      Tensor incoming = ReadTensor(out_backprop, "out_backprop", problem_.dtype);
      CheckTensor(incoming, problem_.out_backprop_shape);
      return Run(problem_, plan_.get(), nullptr, nb::cast<const PackedFilter&>(filter).get(),
                 &incoming, out);
    }
    Tensor weights = ReadTensor(filter, "filter", problem_.dtype);
    Tensor incoming = ReadTensor(out_backprop, "out_backprop", problem_.dtype);
    CheckTensor(weights, problem_.filter_shape);
    CheckTensor(incoming, problem_.out_backprop_shape);
    return Run(problem_, plan_.get(), &weights, nullptr, &incoming, out);
  }

  std::string Explain() const {
    return ReadText([&](char* buffer, uint64_t bytes, uint64_t* size) {
      return dgrad_plan_explain(plan_.get(), buffer, bytes, size);
    });
  }

  const dgrad_plan_info& info() const { return info_; }
  const dgrad_problem_info& problem() const { return problem_; }
  const std::string& text() const { return text_; }
  // Rows and columns in data_format order, 1 for the others.
  nb::tuple InFormat(const int64_t* spatial) const {
    const bool nchw = problem_.data_format == DGRAD_NCHW;
    return nchw ? nb::make_tuple(1, 1, spatial[0], spatial[1])
                : nb::make_tuple(1, spatial[0], spatial[1], 1);
  }

 private:
  void CheckTensor(const Tensor& tensor, const int64_t expected[4]) const {
    CheckDType(tensor);
    if (tensor.dtype != problem_.dtype) {
      ThrowInvalid(std::string(tensor.argument) + " must be of the plan's type, " +
                   DTypeName(problem_.dtype) + "; given " + DTypeName(tensor.dtype));
    }
    if (tensor.shape.size() != 4 || !std::equal(expected, expected + 4, tensor.shape.begin())) {
      ThrowInvalid(std::string(tensor.argument) + " must have the plan's shape, " +
                   ShapeText(expected, 4) + "; given " +
                   ShapeText(tensor.shape.data(), tensor.shape.size()));
    }
  }

  PlanHandle plan_;
  dgrad_problem_info problem_ = {};
  dgrad_plan_info info_ = {};
  std::string text_;
};

}  // namespace

void BindPlan(nb::module_& module) {
  nb::class_<PackedFilter>(
      module, "PackedFilter",
      "A filter in the layout that one plan's algorithm reads, made by Plan.pack.\n\n"
      "It serves every plan of the same geometry, algorithm and instruction set; any other plan\n"
      "refuses it. Immutable: several threads may use it at once.")
      .def_prop_ro("nbytes", &PackedFilter::bytes, "Size of its storage in bytes.")
      .def("__repr__", &PackedFilter::Repr);

  nb::class_<Plan>(module, "Plan")
      .def(nb::init<nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle,
                    nb::handle, nb::handle, nb::handle, nb::handle, nb::handle>(),
           nb::arg().none(), nb::arg().none(), nb::arg().none(), nb::arg().none(), nb::arg().none(),
           nb::arg().none(), nb::arg().none(), nb::arg().none(), nb::arg().none(), nb::arg().none(),
           nb::arg().none())
      .def("pack", &Plan::Pack, nb::arg().none())
      .def("run", &Plan::Call, nb::arg().none(), nb::arg().none(), nb::arg().none())
      .def("explain", &Plan::Explain)
      .def_prop_ro("problem", &Plan::text)
      .def_prop_ro("input_sizes",
                   [](const Plan& plan) { return ToTuple(plan.problem().in_backprop_shape); })
      .def_prop_ro("filter_shape",
                   [](const Plan& plan) { return ToTuple(plan.problem().filter_shape); })
      .def_prop_ro("out_backprop_shape",
                   [](const Plan& plan) { return ToTuple(plan.problem().out_backprop_shape); })
      .def_prop_ro("strides",
                   [](const Plan& plan) { return plan.InFormat(plan.problem().strides); })
      .def_prop_ro("dilations",
                   [](const Plan& plan) { return plan.InFormat(plan.problem().dilations); })
      .def_prop_ro("data_format",
                   [](const Plan& plan) {
                     return nb::str(plan.problem().data_format == DGRAD_NCHW ? "NCHW" : "NHWC");
                   })
      .def_prop_ro("dtype", [](const Plan& plan) { return NumpyDType(plan.problem().dtype); })
      .def_prop_ro("workspace_bytes", [](const Plan& plan) { return plan.info().workspace_bytes; })
      .def_prop_ro("packed_filter_bytes",
                   [](const Plan& plan) { return plan.info().packed_filter_bytes; })
      .def_prop_ro("algorithm", [](const Plan& plan) { return nb::str(plan.info().algorithm); })
      .def_prop_ro("isa", [](const Plan& plan) { return nb::str(IsaName(plan.info().isa)); })
      .def_prop_ro("threads", [](const Plan& plan) { return plan.info().threads; });
}

}  // namespace dgrad_python
