// dgrad: the gradient of a 2-D convolution with respect to its input, for C++20.
//
// A thin layer of owning classes and exceptions over the C interface, which has the definition of
// the operation and the meaning of every number (dgrad.h). Two ways in:
//
//   // once
//   std::vector<float> in_backprop = dgrad::conv2d_backprop_input<float>(
//       {.input_sizes = {8, 56, 56, 64}, .filter_shape = {3, 3, 64, 128}, .strides = {1, 2, 2, 1},
//        .padding = dgrad::Padding::kSame},
//       filter, out_backprop);
//
//   // again and again
//   dgrad::Plan plan(dgrad::Problem(arguments), {.filter_packed = true});
//   dgrad::PackedFilter packed(plan, filter);
//   plan.run(packed, out_backprop, in_backprop);
//
// Tensors are contiguous ranges (std::vector, std::array, std::span ...) of float, double,
// std::int32_t, dgrad::Float16 or dgrad::BFloat16, dense and row-major; arguments come in
// TensorFlow's order: filter, out_backprop, in_backprop. Shapes are in data_format order, sizes
// count elements, names that end in _bytes count bytes.
//
// Every function that can fail throws a dgrad::Error. InvalidArgumentError's text names the
// argument, what was given and what is legal. After a failed run in_backprop holds unspecified
// values.
#ifndef DGRAD_DGRAD_HPP_
#define DGRAD_DGRAD_HPP_

#if __cplusplus < 202002L && !(defined(_MSVC_LANG) && _MSVC_LANG >= 202002L)
#error "dgrad.hpp needs C++20 (-std=c++20); older C++ can use dgrad.h"
#endif

#include <dgrad/dgrad.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__STDCPP_FLOAT16_T__) || defined(__STDCPP_BFLOAT16_T__)
#include <stdfloat>
#endif

namespace dgrad {
// Inline, so that these names can't be taken for others of the library in a static link.
inline namespace cpp {

// ---- Errors -------------------------------------------------------------------------------------

class Error : public std::runtime_error {
 public:
  Error(dgrad_status status, const std::string& text) : std::runtime_error(text), status_(status) {}

  // DGRAD_INVALID_ARGUMENT .. DGRAD_INTERNAL; the last one has no class of its own.
  dgrad_status status() const noexcept { return status_; }

 private:
  dgrad_status status_;
};

class InvalidArgumentError : public Error {
 public:
  explicit InvalidArgumentError(const std::string& text) : Error(DGRAD_INVALID_ARGUMENT, text) {}
};

class UnimplementedError : public Error {
 public:
  explicit UnimplementedError(const std::string& text) : Error(DGRAD_UNIMPLEMENTED, text) {}
};

class OutOfMemoryError : public Error {
 public:
  explicit OutOfMemoryError(const std::string& text) : Error(DGRAD_OUT_OF_MEMORY, text) {}
};

class CancelledError : public Error {
 public:
  explicit CancelledError(const std::string& text) : Error(DGRAD_CANCELLED, text) {}
};

// Throws the error of a status with the text of this thread's last failure; DGRAD_OK returns.
inline void check(dgrad_status status) {
  switch (status) {
    case DGRAD_OK:
      return;
    case DGRAD_INVALID_ARGUMENT:
      throw InvalidArgumentError(dgrad_last_error());
    case DGRAD_UNIMPLEMENTED:
      throw UnimplementedError(dgrad_last_error());
    case DGRAD_OUT_OF_MEMORY:
      throw OutOfMemoryError(dgrad_last_error());
    case DGRAD_CANCELLED:
      throw CancelledError(dgrad_last_error());
    default:
      throw Error(status, dgrad_last_error());
  }
}

// ---- Words --------------------------------------------------------------------------------------

enum class Dtype : dgrad_dtype {
  kFloat16 = DGRAD_FLOAT16,
  kBFloat16 = DGRAD_BFLOAT16,
  kFloat32 = DGRAD_FLOAT32,
  kFloat64 = DGRAD_FLOAT64,
  kInt32 = DGRAD_INT32,
};
enum class DataFormat : dgrad_data_format { kNhwc = DGRAD_NHWC, kNchw = DGRAD_NCHW };
enum class Padding : dgrad_padding {
  kValid = DGRAD_VALID,
  kSame = DGRAD_SAME,
  kExplicit = DGRAD_EXPLICIT,
};
enum class Accuracy : dgrad_accuracy { kFast = DGRAD_FAST, kStrict = DGRAD_STRICT };
enum class Isa : dgrad_isa {
  kAuto = DGRAD_ISA_AUTO,
  kScalar = DGRAD_ISA_SCALAR,
  kSse4 = DGRAD_ISA_SSE4,
  kNeon = DGRAD_ISA_NEON,
  kAvx2 = DGRAD_ISA_AVX2,
  kAvx512 = DGRAD_ISA_AVX512,
};

// Bit patterns of the half types, for programs that have no type of their own for them.
struct Float16 {
  std::uint16_t bits;  // IEEE binary16
};
struct BFloat16 {
  std::uint16_t bits;  // the upper half of a float
};

// The element type of T. Specialise it for another half type of the same two bytes:
//   template <> inline constexpr dgrad::Dtype dgrad::dtype_of<my::Half> = dgrad::Dtype::kFloat16;
template <typename T>
inline constexpr auto dtype_of = nullptr;
template <>
inline constexpr Dtype dtype_of<Float16> = Dtype::kFloat16;
template <>
inline constexpr Dtype dtype_of<BFloat16> = Dtype::kBFloat16;
template <>
inline constexpr Dtype dtype_of<float> = Dtype::kFloat32;
template <>
inline constexpr Dtype dtype_of<double> = Dtype::kFloat64;
template <>
inline constexpr Dtype dtype_of<std::int32_t> = Dtype::kInt32;
#if defined(__STDCPP_FLOAT16_T__)
template <>
inline constexpr Dtype dtype_of<std::float16_t> = Dtype::kFloat16;
#endif
#if defined(__STDCPP_BFLOAT16_T__)
template <>
inline constexpr Dtype dtype_of<std::bfloat16_t> = Dtype::kBFloat16;
#endif

template <typename T>
concept Element = std::same_as<std::remove_cv_t<decltype(dtype_of<T>)>, Dtype>;

// A contiguous range of elements, such as std::vector<float> or std::span<const float>.
template <typename R>
concept Tensor = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    Element<std::ranges::range_value_t<R>>;
template <typename R>
concept WritableTensor =
    Tensor<R> && !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

// ---- Problem: what to compute -------------------------------------------------------------------

// A list of up to 8 integers, held by value: {1, 2, 2, 1}, std::array, std::vector, std::span ...
class Sizes {
 public:
  Sizes() = default;
  Sizes(std::initializer_list<std::int64_t> values) { assign(values); }
  template <std::ranges::sized_range R>
  requires std::integral<std::ranges::range_value_t<R>> &&
      (!std::same_as<std::remove_cvref_t<R>, Sizes>)
          Sizes(const R& values) {  // NOLINT(google-explicit-constructor): a list is a list
    assign(values);
  }

  const std::int64_t* data() const noexcept { return values_.data(); }
  std::size_t size() const noexcept { return size_; }
  const std::int64_t* begin() const noexcept { return data(); }
  const std::int64_t* end() const noexcept { return data() + size_; }
  std::int64_t operator[](std::size_t i) const { return values_[i]; }

 private:
  template <typename R>
  void assign(const R& values) {
    if (std::ranges::size(values) > values_.size()) {
      throw InvalidArgumentError("a list has " + std::to_string(std::ranges::size(values)) +
                                 " elements; no list of this operation has more than 8");
    }
    for (const auto value : values) {
      if (!std::in_range<std::int64_t>(value)) {
        throw InvalidArgumentError("a list holds " + std::to_string(value) +
                                   "; sizes are at most 2^63 - 1");
      }
      values_[size_++] = static_cast<std::int64_t>(value);
    }
  }

  std::array<std::int64_t, 8> values_ = {};
  std::size_t size_ = 0;
};

// TensorFlow's arguments. Shapes, strides, dilations and paddings are in data_format order.
struct Arguments {
  Sizes input_sizes = {};   // shape of in_backprop: 4 elements, or 2: [height, width], the rest
                            // from the tensors
  Sizes filter_shape = {};  // [rows, columns, in channels / groups, out channels]
  std::optional<Sizes> out_backprop_shape = {};  // absent: computed
  Sizes strides = {1, 1, 1, 1};
  Sizes dilations = {1, 1, 1, 1};
  Padding padding = Padding::kValid;
  Sizes explicit_paddings = {};  // 8: before and after per dimension; only with Padding::kExplicit
  DataFormat data_format = DataFormat::kNhwc;
  Dtype dtype = Dtype::kFloat32;
};

namespace internal {

// The C struct of the arguments; points into them.
inline dgrad_arguments to_c(const Arguments& arguments, Dtype dtype) {
  dgrad_arguments c = {};
  c.struct_size = sizeof(c);
  c.input_sizes = arguments.input_sizes.data();
  c.input_sizes_count = arguments.input_sizes.size();
  c.filter_shape = arguments.filter_shape.data();
  c.filter_rank = arguments.filter_shape.size();
  if (arguments.out_backprop_shape) {
    c.out_backprop_shape = arguments.out_backprop_shape->data();
    c.out_backprop_rank = arguments.out_backprop_shape->size();
  }
  c.strides = arguments.strides.data();
  c.strides_count = arguments.strides.size();
  c.dilations = arguments.dilations.data();
  c.dilations_count = arguments.dilations.size();
  c.explicit_paddings = arguments.explicit_paddings.data();
  c.explicit_paddings_count = arguments.explicit_paddings.size();
  c.padding = static_cast<dgrad_padding>(arguments.padding);
  c.data_format = static_cast<dgrad_data_format>(arguments.data_format);
  c.dtype = static_cast<dgrad_dtype>(dtype);
  return c;
}

// The text of a C function that takes (buffer, buffer_bytes, size). The text may grow between the
// calls (explain and info look at the machine), hence the loop.
template <typename Get>
std::string text(Get&& get) {
  std::string result(255, '\0');
  for (;;) {
    std::uint64_t size = 0;
    check(get(result.data(), result.size() + 1, &size));
    const bool fitted = size <= result.size() + 1;
    result.resize(size - 1);
    if (fitted) return result;
  }
}

template <auto Destroy>
struct Deleter {
  template <typename Handle>
  void operator()(Handle* handle) const noexcept {
    Destroy(handle);
  }
};

inline std::array<std::int64_t, 4> shape(const std::int64_t (&c)[4]) {
  return {c[0], c[1], c[2], c[3]};
}

}  // namespace internal

// The operation with every size resolved and checked. Move-only; may be used by many threads.
class Problem {
 public:
  // Throws InvalidArgumentError, or UnimplementedError for strides or dilations of batch or
  // channels.
  explicit Problem(const Arguments& arguments) {
    const dgrad_arguments c = internal::to_c(arguments, arguments.dtype);
    dgrad_problem* handle = nullptr;
    check(dgrad_problem_create(&c, &handle));
    adopt(handle);
  }

  // A problem string such as "n8_h56w56c64_k3x3_oc128_s2x2_psame" (docs/semantics.md).
  explicit Problem(const std::string& text) {
    if (text.find('\0') != std::string::npos) {
      throw InvalidArgumentError("the problem string has a zero byte in it");
    }
    dgrad_problem* handle = nullptr;
    check(dgrad_problem_from_string(text.c_str(), &handle));
    adopt(handle);
  }

  std::string to_string() const {
    return internal::text([&](char* buffer, std::uint64_t bytes, std::uint64_t* size) {
      return dgrad_problem_to_string(c_handle(), buffer, bytes, size);
    });
  }

  // Everything at once, padding resolved to numbers.
  const dgrad_problem_info& info() const noexcept { return info_; }
  std::array<std::int64_t, 4> in_backprop_shape() const {
    return internal::shape(info_.in_backprop_shape);
  }
  std::array<std::int64_t, 4> out_backprop_shape() const {
    return internal::shape(info_.out_backprop_shape);
  }
  std::array<std::int64_t, 4> filter_shape() const { return internal::shape(info_.filter_shape); }
  Dtype dtype() const noexcept { return static_cast<Dtype>(info_.dtype); }
  DataFormat data_format() const noexcept { return static_cast<DataFormat>(info_.data_format); }

  const dgrad_problem* c_handle() const noexcept { return handle_.get(); }

 private:
  void adopt(dgrad_problem* handle) {
    handle_.reset(handle);
    info_.struct_size = sizeof(info_);
    check(dgrad_problem_get_info(handle, &info_));
  }

  std::unique_ptr<dgrad_problem, internal::Deleter<dgrad_problem_destroy>> handle_;
  dgrad_problem_info info_ = {};
};

// ---- Execution ----------------------------------------------------------------------------------

// One task of a parallel loop: task(i) runs the i-th.
class Task {
 public:
  Task(dgrad_task task, void* context) noexcept : task_(task), context_(context) {}
  void operator()(std::int64_t index) const { task_(context_, index); }

 private:
  dgrad_task task_;
  void* context_;
};

// The program's own threads instead of the library's. parallel_for(count, task) must call task(i)
// once for every i in [0, count), in any order, on any threads, and return when all are done.
// What it throws comes out of run().
class Executor {
 public:
  using ParallelFor = std::function<void(std::int64_t count, const Task& task)>;

  // concurrency: how many tasks may run at once, at least 1.
  Executor(std::int32_t concurrency, ParallelFor parallel_for)
      : concurrency_(concurrency), parallel_for_(std::move(parallel_for)) {
    if (concurrency < 1) {
      throw InvalidArgumentError("concurrency is " + std::to_string(concurrency) +
                                 "; it must be at least 1");
    }
    if (!parallel_for_) throw InvalidArgumentError("parallel_for is empty; a function is needed");
  }

  std::int32_t concurrency() const noexcept { return concurrency_; }
  const ParallelFor& parallel_for() const noexcept { return parallel_for_; }

 private:
  std::int32_t concurrency_;
  ParallelFor parallel_for_;
};

// What a run may be given besides its tensors.
struct RunOptions {
  // At least Plan::workspace_bytes(), any alignment, apart from all tensors. Empty: from the
  // library's pool.
  std::span<std::byte> workspace = {};
  const Executor* executor = nullptr;  // null: the library's own threads
  // A flag looked at between tasks: non-zero ends the run with a CancelledError. May be null.
  const std::int32_t* cancel = nullptr;
  // Asked now and then on the calling thread; true ends the run with a CancelledError. What it
  // throws comes out of run().
  std::function<bool()> poll = {};
};

namespace internal {

// The C struct of a run, with trampolines that keep exceptions on this side.
class RunCall {
 public:
  explicit RunCall(const RunOptions& options) : options_(options) {
    run_.struct_size = sizeof(run_);
    run_.workspace = options.workspace.data();
    run_.workspace_bytes = options.workspace.size();
    run_.cancel = options.cancel;
    if (options.poll) {
      run_.poll = poll;
      run_.poll_user = this;
    }
    if (options.executor != nullptr) {
      executor_.struct_size = sizeof(executor_);
      executor_.user = this;
      executor_.concurrency = options.executor->concurrency();
      executor_.parallel_for = parallel_for;
      run_.executor = &executor_;
    }
  }
  RunCall(const RunCall&) = delete;
  RunCall& operator=(const RunCall&) = delete;

  void set_filter(std::span<const std::byte> filter) {
    run_.filter = filter.data();
    run_.filter_bytes = filter.size();
  }
  void set_packed_filter(const dgrad_packed_filter* packed) { run_.packed_filter = packed; }
  void set_tensors(std::span<const std::byte> out_backprop, std::span<std::byte> in_backprop) {
    run_.out_backprop = out_backprop.data();
    run_.out_backprop_bytes = out_backprop.size();
    run_.in_backprop = in_backprop.data();
    run_.in_backprop_bytes = in_backprop.size();
  }

  const dgrad_run_arguments* c_run() const noexcept { return &run_; }

  void check(dgrad_status status) const {
    if (exception_) std::rethrow_exception(exception_);
    cpp::check(status);
  }

 private:
  static std::int32_t poll(void* self) noexcept {
    auto* call = static_cast<RunCall*>(self);
    try {
      return call->options_.poll() ? 1 : 0;
    } catch (...) {
      call->exception_ = std::current_exception();
      return 1;
    }
  }
  static std::int32_t parallel_for(void* self, std::int64_t count, dgrad_task task,
                                   void* context) noexcept {
    auto* call = static_cast<RunCall*>(self);
    try {
      call->options_.executor->parallel_for()(count, Task(task, context));
      return 0;
    } catch (...) {
      call->exception_ = std::current_exception();
      return 1;
    }
  }

  const RunOptions& options_;
  dgrad_run_arguments run_ = {};
  dgrad_executor executor_ = {};
  std::exception_ptr exception_;  // written on the calling thread, which alone calls the two above
};

constexpr const char* name(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat16:
      return "float16";
    case Dtype::kBFloat16:
      return "bfloat16";
    case Dtype::kFloat32:
      return "float32";
    case Dtype::kFloat64:
      return "float64";
    case Dtype::kInt32:
      return "int32";
  }
  return "unknown";
}

// The bytes of a tensor whose elements must be of the problem's type.
template <Tensor R>
std::span<const std::byte> bytes(const char* argument, const R& tensor, Dtype expected) {
  using T = std::ranges::range_value_t<R>;
  constexpr Dtype given = dtype_of<T>;
  constexpr bool wide = given == Dtype::kFloat32 || given == Dtype::kInt32;
  static_assert(sizeof(T) == (given == Dtype::kFloat64 ? 8
                              : wide                   ? 4
                                                       : 2),
                "dtype_of is specialised for a type of another size");
  if (given != expected) {
    throw InvalidArgumentError(std::string(argument) + " has elements of type " + name(given) +
                               "; they must be of type " + name(expected));
  }
  return std::as_bytes(std::span<const T>(std::ranges::data(tensor), std::ranges::size(tensor)));
}
template <WritableTensor R>
std::span<std::byte> writable_bytes(const char* argument, R& tensor, Dtype expected) {
  const std::span<const std::byte> read = bytes(argument, tensor, expected);
  return {const_cast<std::byte*>(read.data()), read.size()};
}

}  // namespace internal

// ---- Plan: how to compute it, chosen once -------------------------------------------------------

struct PlanOptions {
  std::int32_t threads = 0;  // 0: the default number; the result does not depend on it
  Accuracy accuracy = Accuracy::kFast;
  Isa isa = Isa::kAuto;               // an upper bound
  bool filter_packed = false;         // runs will pass a PackedFilter, so packing costs nothing
  std::uint64_t workspace_limit = 0;  // bytes; 0: the library's own bound
  std::string algorithm = {};         // empty: the best one; a name of algorithms() forces it
};

namespace internal {
// The C struct of the options; points into them.
inline dgrad_plan_options to_c(const PlanOptions& options) {
  dgrad_plan_options c = {};
  c.struct_size = sizeof(c);
  c.threads = options.threads;
  c.accuracy = static_cast<dgrad_accuracy>(options.accuracy);
  c.isa = static_cast<dgrad_isa>(options.isa);
  c.filter_packed = options.filter_packed ? 1 : 0;
  c.workspace_limit = options.workspace_limit;
  c.algorithm = options.algorithm.empty() ? nullptr : options.algorithm.c_str();
  return c;
}
}  // namespace internal

class PackedFilter;

// The choice of algorithm and blocking for one problem. Immutable, move-only; many threads may run
// it at once.
class Plan {
 public:
  // The problem need not outlive the plan. Throws InvalidArgumentError when a forced algorithm
  // refuses the problem.
  explicit Plan(const Problem& problem, const PlanOptions& options = {}) : dtype_(problem.dtype()) {
    const dgrad_plan_options c = internal::to_c(options);
    dgrad_plan* handle = nullptr;
    check(dgrad_plan_create(problem.c_handle(), &c, &handle));
    handle_.reset(handle);
    info_.struct_size = sizeof(info_);
    check(dgrad_plan_get_info(handle, &info_));
  }

  std::string algorithm() const { return info_.algorithm; }
  Isa isa() const noexcept { return static_cast<Isa>(info_.isa); }
  std::int32_t threads() const noexcept { return info_.threads; }
  Dtype dtype() const noexcept { return dtype_; }
  std::uint64_t workspace_bytes() const noexcept { return info_.workspace_bytes; }
  std::uint64_t packed_filter_bytes() const noexcept { return info_.packed_filter_bytes; }

  // For people: geometry, the choice, and why the other algorithms were refused.
  std::string explain() const {
    return internal::text([&](char* buffer, std::uint64_t bytes, std::uint64_t* size) {
      return dgrad_plan_explain(c_handle(), buffer, bytes, size);
    });
  }

  // Writes every element of in_backprop, which must overlap nothing else. The element types must be
  // the problem's, the ranges at least as long as the tensors. Throws InvalidArgumentError,
  // OutOfMemoryError, CancelledError.
  template <Tensor Filter, Tensor OutBackprop, WritableTensor InBackprop>
  void run(const Filter& filter, const OutBackprop& out_backprop, InBackprop&& in_backprop,
           const RunOptions& options = {}) const {
    run(internal::bytes("filter", filter, dtype_),
        internal::bytes("out_backprop", out_backprop, dtype_),
        internal::writable_bytes("in_backprop", in_backprop, dtype_), options);
  }

  // With a packed filter, which must be of the same geometry, algorithm and instruction set.
  template <Tensor OutBackprop, WritableTensor InBackprop>
  void run(const PackedFilter& filter, const OutBackprop& out_backprop, InBackprop&& in_backprop,
           const RunOptions& options = {}) const {
    run(filter, internal::bytes("out_backprop", out_backprop, dtype_),
        internal::writable_bytes("in_backprop", in_backprop, dtype_), options);
  }

  // Raw bytes: the caller vouches for the element type; addresses must be multiples of its size.
  void run(std::span<const std::byte> filter, std::span<const std::byte> out_backprop,
           std::span<std::byte> in_backprop, const RunOptions& options = {}) const {
    internal::RunCall call(options);
    call.set_filter(filter);
    call.set_tensors(out_backprop, in_backprop);
    call.check(dgrad_run(c_handle(), call.c_run()));
  }
  void run(const PackedFilter& filter, std::span<const std::byte> out_backprop,
           std::span<std::byte> in_backprop, const RunOptions& options = {}) const;

  const dgrad_plan* c_handle() const noexcept { return handle_.get(); }

 private:
  std::unique_ptr<dgrad_plan, internal::Deleter<dgrad_plan_destroy>> handle_;
  dgrad_plan_info info_ = {};
  Dtype dtype_;
};

// A filter in the form a plan wants. It serves every plan of the same geometry, algorithm and
// instruction set, and may outlive the plan it was made for. Move-only.
class PackedFilter {
 public:
  // storage: empty (the library allocates) or at least plan.packed_filter_bytes(), any alignment,
  // kept alive by the caller as long as this object.
  template <Tensor Filter>
  PackedFilter(const Plan& plan, const Filter& filter, std::span<std::byte> storage = {})
      : PackedFilter(plan, internal::bytes("filter", filter, plan.dtype()), storage) {}

  // Raw bytes of the plan's element type.
  PackedFilter(const Plan& plan, std::span<const std::byte> filter,
               std::span<std::byte> storage = {}) {
    dgrad_packed_filter* handle = nullptr;
    check(dgrad_packed_filter_create(plan.c_handle(), filter.data(), filter.size(), storage.data(),
                                     storage.size(), &handle));
    handle_.reset(handle);
  }

  const dgrad_packed_filter* c_handle() const noexcept { return handle_.get(); }

 private:
  std::unique_ptr<dgrad_packed_filter, internal::Deleter<dgrad_packed_filter_destroy>> handle_;
};

inline void Plan::run(const PackedFilter& filter, std::span<const std::byte> out_backprop,
                      std::span<std::byte> in_backprop, const RunOptions& options) const {
  if (filter.c_handle() == nullptr) throw InvalidArgumentError("filter was moved from");
  internal::RunCall call(options);
  call.set_packed_filter(filter.c_handle());
  call.set_tensors(out_backprop, in_backprop);
  call.check(dgrad_run(c_handle(), call.c_run()));
}

// ---- One call for everything --------------------------------------------------------------------

// Fills in_backprop. Plans are cached inside, filters are not. The element type is that of the
// tensors; arguments.dtype is not looked at.
template <Tensor Filter, Tensor OutBackprop, WritableTensor InBackprop>
void conv2d_backprop_input(const Arguments& arguments, const Filter& filter,
                           const OutBackprop& out_backprop, InBackprop&& in_backprop,
                           const PlanOptions& plan_options = {}, const RunOptions& options = {}) {
  constexpr Dtype dtype = dtype_of<std::ranges::range_value_t<Filter>>;
  const dgrad_arguments c_arguments = internal::to_c(arguments, dtype);
  const dgrad_plan_options c_options = internal::to_c(plan_options);
  internal::RunCall call(options);
  call.set_filter(internal::bytes("filter", filter, dtype));
  call.set_tensors(internal::bytes("out_backprop", out_backprop, dtype),
                   internal::writable_bytes("in_backprop", in_backprop, dtype));
  call.check(dgrad_conv2d_backprop_input(&c_arguments, &c_options, call.c_run()));
}

// Returns in_backprop, row-major, of the shape input_sizes.
template <Element T>
std::vector<T> conv2d_backprop_input(const Arguments& arguments,
                                     std::type_identity_t<std::span<const T>> filter,
                                     std::type_identity_t<std::span<const T>> out_backprop,
                                     const PlanOptions& plan_options = {},
                                     const RunOptions& options = {}) {
  Arguments typed = arguments;
  typed.dtype = dtype_of<T>;
  const Problem problem(typed);
  std::vector<T> in_backprop(problem.info().in_backprop_bytes / sizeof(T));
  conv2d_backprop_input(typed, filter, out_backprop, in_backprop, plan_options, options);
  return in_backprop;
}

// The definition as plain loops, for checking: slow, and more exact than any algorithm.
template <Tensor Filter, Tensor OutBackprop, WritableTensor InBackprop>
void reference(const Problem& problem, const Filter& filter, const OutBackprop& out_backprop,
               InBackprop&& in_backprop) {
  const auto f = internal::bytes("filter", filter, problem.dtype());
  const auto o = internal::bytes("out_backprop", out_backprop, problem.dtype());
  const auto i = internal::writable_bytes("in_backprop", in_backprop, problem.dtype());
  check(dgrad_reference(problem.c_handle(), f.data(), f.size(), o.data(), o.size(), i.data(),
                        i.size()));
}

// ---- Algorithms and the library -----------------------------------------------------------------

// The names that PlanOptions::algorithm takes, in order of preference.
inline std::vector<std::string> algorithms() {
  std::vector<std::string> names;
  for (std::int32_t i = 0; i < dgrad_algorithm_count(); ++i) {
    names.emplace_back(dgrad_algorithm_name(i));
  }
  return names;
}

// Why the algorithm can't serve the problem; empty if it can. Throws InvalidArgumentError for an
// unknown name.
inline std::string refusal(const Problem& problem, const std::string& algorithm,
                           const PlanOptions& options = {}) {
  const dgrad_plan_options c = internal::to_c(options);
  return internal::text([&](char* buffer, std::uint64_t bytes, std::uint64_t* size) {
    return dgrad_algorithm_refusal(problem.c_handle(), &c, algorithm.c_str(), buffer, bytes, size);
  });
}

// The default number of threads of plans made later; 0 restores the automatic choice.
inline void set_num_threads(std::int32_t threads) { check(dgrad_set_num_threads(threads)); }
inline std::int32_t num_threads() { return dgrad_get_num_threads(); }

// Empties the plan cache and the workspace pool.
inline void trim() { dgrad_trim(); }

inline std::string version() { return dgrad_version(); }

// JSON: version, compiler, CPU, instruction sets, caches, threads.
inline std::string info() {
  return internal::text([](char* buffer, std::uint64_t bytes, std::uint64_t* size) {
    return dgrad_info(buffer, bytes, size);
  });
}

}  // namespace cpp
}  // namespace dgrad

#endif  // DGRAD_DGRAD_HPP_
