#include "arguments.h"

#include <algorithm>
#include <limits>

#include "errors.h"
#include "tensor.h"

namespace dgrad_python {
namespace {

bool IsListOrTuple(nb::handle value) {
  return PyList_Check(value.ptr()) || PyTuple_Check(value.ptr());
}

bool IsWord(nb::handle value) { return PyUnicode_Check(value.ptr()) || PyBytes_Check(value.ptr()); }

// A tuple with the elements as they are now: __index__ may run code that changes the list.
nb::object Snapshot(nb::handle sequence) {
  PyObject* tuple = PySequence_Tuple(sequence.ptr());
  if (tuple == nullptr) throw nb::python_error();
  return nb::steal(tuple);
}

// std::vector's data() may be null when it is empty, which means "absent" to the C interface.
std::vector<int64_t> NewVector() {
  std::vector<int64_t> values;
  values.reserve(8);
  return values;
}

// Lists and tuples of plain integers of 64 bits, the usual case: no code of Python's runs
// meanwhile, so that no snapshot is needed. False, with nothing appended, for all others.
bool AppendPlain(nb::handle sequence, std::vector<int64_t>* values) {
  PyObject* const items = sequence.ptr();
  if (!PyList_CheckExact(items) && !PyTuple_CheckExact(items)) return false;
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(items);
  const size_t before = values->size();
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* const item = PySequence_Fast_GET_ITEM(items, i);
    int overflow = PyLong_CheckExact(item) ? 0 : 1;
    const long long number = overflow == 0 ? PyLong_AsLongLongAndOverflow(item, &overflow) : 0;
    if (overflow != 0) {
      values->resize(before);
      return false;
    }
    values->push_back(number);
  }
  return true;
}

void Append(nb::handle sequence, const char* argument, std::vector<int64_t>* values) {
  if (AppendPlain(sequence, values)) return;
  const nb::object items = Snapshot(sequence);
  const Py_ssize_t count = PyTuple_GET_SIZE(items.ptr());
  for (Py_ssize_t i = 0; i < count; ++i) {
    values->push_back(ToInteger(PyTuple_GET_ITEM(items.ptr(), i), argument));
  }
}

// The text of a str or bytes. Characters that no legal word has become '?', so that it can stand in
// a message; what is too long for one is cut.
std::string WordText(nb::handle value) {
  Py_ssize_t size = 0;
  const char* text = nullptr;
  if (PyBytes_Check(value.ptr())) {
    text = PyBytes_AS_STRING(value.ptr());
    size = PyBytes_GET_SIZE(value.ptr());
  } else {
    text = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
    if (text == nullptr) PyErr_Clear();  // a lone surrogate
  }
  if (text == nullptr) return "?";
  std::string word(text, static_cast<size_t>(std::min<Py_ssize_t>(size, 60)));
  for (char& c : word) {
    if (c < ' ' || c > '~') c = '?';
  }
  return word;
}

// Longer ranges and arrays are refused unread; the exact count is the library's to check.
constexpr Py_ssize_t kMaxSizes = 64;

constexpr struct {
  const char* name;
  dgrad_isa isa;
} kIsas[] = {{"auto", DGRAD_ISA_AUTO}, {"scalar", DGRAD_ISA_SCALAR}, {"sse4", DGRAD_ISA_SSE4},
             {"neon", DGRAD_ISA_NEON}, {"avx2", DGRAD_ISA_AVX2},     {"avx512", DGRAD_ISA_AVX512}};

}  // namespace

int64_t ToInteger(nb::handle value, const char* argument) {
  const bool refused =
      PyBool_Check(value.ptr()) || !PyIndex_Check(value.ptr()) || IsNumpyBool(value);
  PyObject* index = refused ? nullptr : PyNumber_Index(value.ptr());
  if (index == nullptr) {
    if (!refused && !PyErr_ExceptionMatches(PyExc_TypeError)) throw nb::python_error();
    PyErr_Clear();
    ThrowType(std::string(argument) + " must hold integers (bool and float are none); given " +
              Describe(value));
  }
  const nb::object owner = nb::steal(index);
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(index, &overflow);
  if (overflow != 0) {
    ThrowInvalid(std::string(argument) + " must hold integers of at most 64 bits; given " +
                 Describe(value));
  }
  if (number == -1 && PyErr_Occurred()) throw nb::python_error();
  return number;
}

std::vector<int64_t> ToIntegers(nb::handle value, const char* argument) {
  if (!IsListOrTuple(value)) {
    ThrowType(std::string(argument) + " must be a list or tuple of 4 integers; given " +
              Describe(value));
  }
  std::vector<int64_t> values = NewVector();
  Append(value, argument, &values);
  return values;
}

std::vector<int64_t> ToSizes(nb::handle value, const char* argument) {
  if (value.is_none()) ThrowInvalid(std::string(argument) + " is missing (None)");
  std::vector<int64_t> values = NewVector();
  if (IsListOrTuple(value)) {
    if (PySequence_Size(value.ptr()) > 0) {
      const nb::object first = nb::steal(PySequence_GetItem(value.ptr(), 0));
      if (first.is_valid() && IsListOrTuple(first)) {
        ThrowInvalid(std::string(argument) + " must be one list of integers; given " +
                     Describe(value));
      }
      PyErr_Clear();
    }
    Append(value, argument, &values);
  } else if (PyRange_Check(value.ptr())) {
    const Py_ssize_t count = PyObject_Size(value.ptr());
    if (count < 0 || count > kMaxSizes) {  // it may be far too long to write out
      PyErr_Clear();
      ThrowInvalid(std::string(argument) + " must have 4 elements; given a longer range");
    }
    Append(value, argument, &values);
  } else if (PyIndex_Check(value.ptr()) && !IsArrayLike(value)) {
    ThrowInvalid(std::string(argument) + " must be a list of integers, not one; given " +
                 Describe(value));
  } else if (!IsWord(value) && IsArrayLike(value)) {
    Append(IntegerArrayAsList(value, argument, kMaxSizes), argument, &values);
  } else {
    ThrowType(std::string(argument) +
              " must be a list, tuple, range or 1-D array of integers; given " + Describe(value));
  }
  return values;
}

std::string ToWord(nb::handle value, const char* argument) {
  if (!IsWord(value)) {
    ThrowType(std::string(argument) + " must be a string; given " + Describe(value));
  }
  return WordText(value);
}

int32_t ToThreads(nb::handle value) {
  if (value.is_none()) return 0;
  const int64_t threads = ToInteger(value, "threads");
  if (threads < 1 || threads > std::numeric_limits<int32_t>::max()) {
    ThrowInvalid("threads must be None or an integer from 1 to 1024; given " +
                 std::to_string(threads));
  }
  return static_cast<int32_t>(threads);
}

dgrad_accuracy ToAccuracy(nb::handle value) {
  const std::string word = ToWord(value, "accuracy");
  if (word == "fast") return DGRAD_FAST;
  if (word == "strict") return DGRAD_STRICT;
  ThrowInvalid("accuracy must be 'fast' or 'strict'; given " + Describe(value));
}

dgrad_isa ToIsa(nb::handle value) {
  if (value.is_none()) return DGRAD_ISA_AUTO;
  const std::string word = ToWord(value, "isa");
  for (const auto& entry : kIsas) {
    if (word == entry.name) return entry.isa;
  }
  ThrowInvalid("isa must be None, 'auto', 'scalar', 'sse4', 'neon', 'avx2' or 'avx512'; given " +
               Describe(value));
}

const char* IsaName(dgrad_isa isa) {
  for (const auto& entry : kIsas) {
    if (entry.isa == isa) return entry.name;
  }
  return "unknown";
}

uint64_t ToWorkspaceLimit(nb::handle value) {
  if (value.is_none()) return 0;
  const int64_t bytes = ToInteger(value, "workspace_limit");
  if (bytes < 1) {
    ThrowInvalid("workspace_limit must be None or a positive number of bytes; given " +
                 std::to_string(bytes));
  }
  return static_cast<uint64_t>(bytes);
}

void Geometry::CheckPaddingForm(nb::handle padding) {
  if (IsWord(padding)) {
    if (WordText(padding) == "EXPLICIT") {
      ThrowInvalid(
          "padding must be 'SAME', 'VALID' or, for explicit padding, the list of 4 pairs itself; "
          "given 'EXPLICIT'");
    }
    return;
  }
  if (!IsListOrTuple(padding)) return;
  const nb::object rows = Snapshot(padding);
  bool legal = PyTuple_GET_SIZE(rows.ptr()) == 4;
  for (Py_ssize_t i = 0; legal && i < 4; ++i) {
    const nb::handle row = PyTuple_GET_ITEM(rows.ptr(), i);
    legal = IsListOrTuple(row) && PySequence_Size(row.ptr()) == 2;
  }
  if (!legal) {
    PyErr_Clear();  // of a subclass whose __len__ fails
    ThrowInvalid(
        "padding as a list must hold 4 pairs (lists or tuples of 2 integers: before, after), one "
        "for each dimension; given " +
        Describe(padding));
  }
}

Geometry::Geometry(nb::handle strides, nb::handle padding, nb::handle use_cudnn_on_gpu,
                   nb::handle data_format, nb::handle dilations)
    : strides_(ToIntegers(strides, "strides")), dilations_(NewVector()), paddings_(NewVector()) {
  if (IsListOrTuple(padding)) {
    is_explicit_ = true;
    const nb::object rows = Snapshot(padding);
    const Py_ssize_t count = PyTuple_GET_SIZE(rows.ptr());
    for (Py_ssize_t i = 0; i < count; ++i) {
      const nb::handle row = PyTuple_GET_ITEM(rows.ptr(), i);
      if (!IsListOrTuple(row)) ThrowInvalid("padding changed while it was read");
      Append(row, "padding", &paddings_);
    }
  } else if (IsWord(padding)) {
    padding_word_ = WordText(padding);
  } else {
    ThrowType("padding must be 'SAME', 'VALID' or a list of 4 pairs of integers; given " +
              Describe(padding));
  }
  if (use_cudnn_on_gpu.is_valid() && !use_cudnn_on_gpu.is_none() &&
      !PyBool_Check(use_cudnn_on_gpu.ptr())) {
    ThrowType("use_cudnn_on_gpu must be a bool or None (it has no effect); given " +
              Describe(use_cudnn_on_gpu));
  }
  if (!data_format.is_none()) data_format_ = ToWord(data_format, "data_format");
  if (!dilations.is_none()) {
    has_dilations_ = true;
    dilations_ = ToIntegers(dilations, "dilations");
  }
}

void Geometry::Fill(dgrad_arguments* arguments) const {
  if (is_explicit_) {
    arguments->padding = DGRAD_EXPLICIT;
    arguments->explicit_paddings = paddings_.data();
    arguments->explicit_paddings_count = paddings_.size();
  } else if (padding_word_ == "SAME") {
    arguments->padding = DGRAD_SAME;
  } else if (padding_word_ == "VALID") {
    arguments->padding = DGRAD_VALID;
  } else {
    ThrowInvalid("padding must be 'SAME', 'VALID' or a list of 4 pairs of integers; given '" +
                 padding_word_ + "'");
  }
  if (data_format_ == "NHWC") {
    arguments->data_format = DGRAD_NHWC;
  } else if (data_format_ == "NCHW") {
    arguments->data_format = DGRAD_NCHW;
  } else {
    ThrowInvalid("data_format must be 'NHWC', 'NCHW' or None (NHWC); given '" + data_format_ + "'");
  }
  arguments->strides = strides_.data();
  arguments->strides_count = strides_.size();
  if (has_dilations_) {
    arguments->dilations = dilations_.data();
    arguments->dilations_count = dilations_.size();
  }
}

}  // namespace dgrad_python
