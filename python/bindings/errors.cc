#include "errors.h"

namespace dgrad_python {
namespace {

// Borrowed for the life of the process: dgrad.errors is never unloaded before this module.
struct Classes {
  PyObject* invalid_argument = nullptr;
  PyObject* unimplemented = nullptr;
  PyObject* cancelled = nullptr;
};
Classes g_classes;

PyObject* ClassOf(Kind kind) {
  switch (kind) {
    case Kind::kInvalidArgument:
      return g_classes.invalid_argument;
    case Kind::kUnimplemented:
      return g_classes.unimplemented;
    case Kind::kType:
      return PyExc_TypeError;
    case Kind::kMemory:
      return PyExc_MemoryError;
    case Kind::kCancelled:
      return g_classes.cancelled;
    case Kind::kInternal:
      break;
  }
  return PyExc_RuntimeError;
}

void Translate(const std::exception_ptr& pointer, void*) {
  try {
    std::rethrow_exception(pointer);
  } catch (const Failure& failure) {
    PyErr_SetString(ClassOf(failure.kind()), failure.what());
  }
}

// repr(value), or "" if it fails or is long.
std::string ShortRepr(nb::handle value) {
  PyObject* text = PyObject_Repr(value.ptr());
  if (text == nullptr) {
    PyErr_Clear();
    return "";
  }
  nb::object owner = nb::steal(text);
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(text, &size);
  if (data == nullptr) PyErr_Clear();
  return data != nullptr && size <= 60 ? std::string(data, static_cast<size_t>(size)) : "";
}

}  // namespace

void ThrowInvalid(const std::string& message) { throw Failure(Kind::kInvalidArgument, message); }
void ThrowType(const std::string& message) { throw Failure(Kind::kType, message); }

void CheckStatus(dgrad_status status) {
  if (status == DGRAD_OK) return;
  const char* text = dgrad_last_error();
  switch (status) {
    case DGRAD_INVALID_ARGUMENT:
      throw Failure(Kind::kInvalidArgument, text);
    case DGRAD_UNIMPLEMENTED:
      throw Failure(Kind::kUnimplemented, text);
    case DGRAD_OUT_OF_MEMORY:
      throw Failure(Kind::kMemory, text);
    case DGRAD_CANCELLED:
      throw Failure(Kind::kCancelled, text);
    default:
      throw Failure(Kind::kInternal, text);
  }
}

void ThrowWithCause(const char* argument) {
  if (!PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_MemoryError)) {
    throw nb::python_error();
  }
  std::string text = std::string(argument) + ": ";
  nb::python_error cause;  // takes the exception out of the interpreter
  nb::object given = nb::steal(PyObject_Str(cause.value().ptr()));
  const char* words = given.is_valid() ? PyUnicode_AsUTF8(given.ptr()) : nullptr;
  if (words == nullptr) PyErr_Clear();
  text += words != nullptr ? words : "the conversion to an array failed";
  nb::raise_from(cause, g_classes.invalid_argument, "%s", text.c_str());
}

std::string Describe(nb::handle value) {
  const char* type = Py_TYPE(value.ptr())->tp_name;
  const bool plain = value.is_none() || PyLong_Check(value.ptr()) || PyFloat_Check(value.ptr()) ||
                     PyUnicode_Check(value.ptr()) || PyBytes_Check(value.ptr());
  const bool few = (PyList_Check(value.ptr()) && PyList_GET_SIZE(value.ptr()) <= 8) ||
                   (PyTuple_Check(value.ptr()) && PyTuple_GET_SIZE(value.ptr()) <= 8);
  if (value.is_none()) return "None";
  if (plain || few) {
    const std::string text = ShortRepr(value);
    if (!text.empty()) return text + " (" + type + ")";
  }
  return std::string("an object of type ") + type;
}

void RegisterErrors() {
  nb::module_ errors = nb::module_::import_("dgrad.errors");
  g_classes.invalid_argument = nb::object(errors.attr("InvalidArgumentError")).release().ptr();
  g_classes.unimplemented = nb::object(errors.attr("UnimplementedError")).release().ptr();
  g_classes.cancelled = nb::object(errors.attr("CancelledError")).release().ptr();
  nb::register_exception_translator(Translate);
}

}  // namespace dgrad_python
