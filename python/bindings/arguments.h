// Python's arguments as the C interface wants them: the type rules, in TensorFlow's order of
// checks.
#ifndef DGRAD_PYTHON_BINDINGS_ARGUMENTS_H_
#define DGRAD_PYTHON_BINDINGS_ARGUMENTS_H_

#include <dgrad/dgrad.h>
#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <vector>

namespace dgrad_python {

namespace nb = nanobind;

// An integer by __index__. TypeError for bool, float and the rest, InvalidArgumentError beyond 64
// bits. `argument` is the word in messages.
int64_t ToInteger(nb::handle value, const char* argument);

// A list or tuple of integers of any length; the number of elements is the library's to check.
// data() of the result is never null.
std::vector<int64_t> ToIntegers(nb::handle value, const char* argument);

// input_sizes and shapes: list, tuple, range or a 1-D integer array.
std::vector<int64_t> ToSizes(nb::handle value, const char* argument);

// str or bytes; TypeError for the rest.
std::string ToWord(nb::handle value, const char* argument);

// None: 0 (the default), else an integer in [1, 2^31).
int32_t ToThreads(nb::handle value);
dgrad_accuracy ToAccuracy(nb::handle value);  // "fast" or "strict"
dgrad_isa ToIsa(nb::handle value);            // None or a word
const char* IsaName(dgrad_isa isa);
uint64_t ToWorkspaceLimit(nb::handle value);  // None: 0 (the library's bound), else bytes >= 1

// Strides, padding, data_format and dilations. Types first, values later, as the tensors are
// converted in between.
class Geometry {
 public:
  // Refuses the string EXPLICIT and lists of the wrong structure: the first check of all.
  static void CheckPaddingForm(nb::handle padding);

  // use_cudnn_on_gpu is checked only; null where the caller has none.
  Geometry(nb::handle strides, nb::handle padding, nb::handle use_cudnn_on_gpu,
           nb::handle data_format, nb::handle dilations);

  // Looks up the words of padding and data_format and writes all four into *arguments, which points
  // into this object from then on.
  void Fill(dgrad_arguments* arguments) const;

 private:
  std::vector<int64_t> strides_;
  std::vector<int64_t> dilations_;
  std::vector<int64_t> paddings_;
  std::string padding_word_;  // empty with is_explicit_
  std::string data_format_ = "NHWC";
  bool is_explicit_ = false;
  bool has_dilations_ = false;
};

}  // namespace dgrad_python

#endif  // DGRAD_PYTHON_BINDINGS_ARGUMENTS_H_
