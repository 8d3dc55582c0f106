#define DGRAD_PYTHON_IMPORTS_NUMPY
#include "tensor.h"

#include <algorithm>
#include <utility>

#include "dlpack.h"
#include "errors.h"
#include "numpy_api.h"
#include "result_memory.h"

namespace dgrad_python {
namespace {

int g_bfloat16 = -1;         // NumPy's type number of ml_dtypes.bfloat16
PyObject* g_dtypes[6] = {};  // by dgrad_dtype; borrowed for the life of the process
PyObject* g_shares_memory = nullptr;
PyObject* g_array_from_list = nullptr;

PyArrayObject* AsArray(nb::handle value) { return reinterpret_cast<PyArrayObject*>(value.ptr()); }
bool IsArray(nb::handle value) { return PyArray_Check(value.ptr()); }

dgrad_dtype FromTypeNumber(int type, npy_intp item_size) {
  if (type == NPY_FLOAT) return DGRAD_FLOAT32;
  if (type == g_bfloat16) return DGRAD_BFLOAT16;
  if (type == NPY_HALF) return DGRAD_FLOAT16;
  if (type == NPY_DOUBLE) return DGRAD_FLOAT64;
  // int32 is C's int or, on some platforms, its long.
  if ((type == NPY_INT || type == NPY_LONG) && item_size == 4) return DGRAD_INT32;
  return 0;
}

bool IsEmpty(PyArrayObject* array) { return PyArray_SIZE(array) == 0; }

// The bytes that a non-empty array may touch: [first, second).
std::pair<const char*, const char*> Extent(PyArrayObject* array) {
  const char* low = PyArray_BYTES(array);
  const char* high = low + PyArray_ITEMSIZE(array);
  for (int i = 0; i < PyArray_NDIM(array); ++i) {
    const npy_intp reach = (PyArray_DIM(array, i) - 1) * PyArray_STRIDE(array, i);
    (reach < 0 ? low : high) += reach;
  }
  return {low, high};
}

bool SharesMemory(PyArrayObject* out, PyArrayObject* input) {
  if (IsEmpty(out) || IsEmpty(input)) return false;
  const auto [out_low, out_high] = Extent(out);
  const auto [low, high] = Extent(input);
  if (out_low >= high || low >= out_high) return false;
  if (PyArray_IS_C_CONTIGUOUS(input)) return true;
  // A strided input may step over the block of out; the exact question is bounded in work and a
  // search without an end counts as shared.
  PyObject* answer = PyObject_CallFunction(g_shares_memory, "OOi", out, input, 10000);
  if (answer == nullptr) {
    PyErr_Clear();
    return true;
  }
  return nb::steal(answer).ptr() == Py_True;
}

void SetArray(nb::object array, Tensor* tensor) {
  PyArrayObject* a = AsArray(array);
  tensor->shape.assign(PyArray_DIMS(a), PyArray_DIMS(a) + PyArray_NDIM(a));
  tensor->dtype =
      PyArray_ISNOTSWAPPED(a) ? FromTypeNumber(PyArray_TYPE(a), PyArray_ITEMSIZE(a)) : 0;
  if (tensor->dtype == 0) {
    nb::object name = nb::str(nb::handle(reinterpret_cast<PyObject*>(PyArray_DESCR(a))));
    const char* text = PyUnicode_AsUTF8(name.ptr());
    if (text == nullptr) throw nb::python_error();
    tensor->type_name = text;
    if (!PyArray_ISNOTSWAPPED(a)) tensor->type_name += " (of foreign byte order)";
  }
  tensor->array = std::move(array);
}

nb::object AsNumpy(nb::handle value, const char* argument) {
  PyObject* array = PyArray_FromAny(value.ptr(), nullptr, 0, 0, 0, nullptr);
  if (array == nullptr) ThrowWithCause(argument);
  return nb::steal(array);
}

bool HasArrayMethod(nb::handle value) {
  return PyObject_CheckBuffer(value.ptr()) || nb::hasattr(value, "__array__") ||
         nb::hasattr(value, "__array_interface__");
}

nb::object NewArrayLike(PyArrayObject* array, const char* argument) {
  PyObject* copy = PyArray_NewLikeArray(array, NPY_CORDER, nullptr, 0);
  if (copy == nullptr) {
    PyErr_Clear();
    throw Failure(Kind::kMemory, std::string("no memory for a contiguous copy of ") + argument);
  }
  return nb::steal(copy);
}

PyObject* Keep(nb::object value) { return value.release().ptr(); }

int ImportNumpy() {
  import_array1(-1);
  return 0;
}

}  // namespace

void InitTensors() {
  if (ImportNumpy() < 0) throw nb::python_error();
  const nb::module_ numpy = nb::module_::import_("numpy");
  const nb::object dtype = numpy.attr("dtype");
  InitResultMemory();
  g_shares_memory = Keep(numpy.attr("shares_memory"));
  g_array_from_list = Keep(nb::module_::import_("dgrad.convert").attr("array_from_list"));
  const nb::object bfloat16 = dtype(nb::module_::import_("ml_dtypes").attr("bfloat16"));
  g_bfloat16 = nb::cast<int>(bfloat16.attr("num"));
  g_dtypes[DGRAD_BFLOAT16] = Keep(bfloat16);
  for (dgrad_dtype type : {DGRAD_FLOAT16, DGRAD_FLOAT32, DGRAD_FLOAT64, DGRAD_INT32}) {
    g_dtypes[type] = Keep(dtype(DTypeName(type)));
  }
}

bool IsArrayLike(nb::handle value) {
  if (IsArray(value)) return true;
  if (PyUnicode_Check(value.ptr()) || PyBytes_Check(value.ptr())) return false;
  return HasDLPack(value) || HasArrayMethod(value);
}

bool IsNestedList(nb::handle value) {
  return PyList_Check(value.ptr()) || PyTuple_Check(value.ptr());
}

bool IsNumpyBool(nb::handle value) { return PyArray_IsScalar(value.ptr(), Bool); }

Tensor ReadTensor(nb::handle value, const char* argument, dgrad_dtype like) {
  Tensor tensor;
  tensor.argument = argument;
  tensor.shape.reserve(4);
  if (IsArray(value)) {
    SetArray(nb::borrow(value), &tensor);
  } else if (value.is_none()) {
    ThrowInvalid(std::string(argument) + " is missing (None); an array is needed");
  } else if (IsNestedList(value)) {
    PyObject* array = PyObject_CallFunction(g_array_from_list, "OsO", value.ptr(), argument,
                                            like == 0 ? Py_None : g_dtypes[like]);
    if (array == nullptr) throw nb::python_error();
    SetArray(nb::steal(array), &tensor);
  } else if (!IsArrayLike(value)) {
    ThrowType(std::string(argument) +
              " must be an array (NumPy, DLPack, buffer) or nested lists; " + "given " +
              Describe(value));
  } else if (HasDLPack(value)) {
    ReadDLPack(value, &tensor);
  } else {
    SetArray(AsNumpy(value, argument), &tensor);
  }
  return tensor;
}

void CheckDType(const Tensor& tensor) {
  if (tensor.dtype != 0) return;
  ThrowInvalid(std::string(tensor.argument) +
               " must be of type float16, bfloat16, float32, float64 or int32, in native byte "
               "order; given " +
               tensor.type_name);
}

const void* Contiguous(Tensor* tensor) {
  PyArrayObject* array = AsArray(tensor->array);
  if (!PyArray_IS_C_CONTIGUOUS(array) || !PyArray_ISALIGNED(array)) {
    nb::object copy = NewArrayLike(array, tensor->argument);
    if (PyArray_CopyInto(AsArray(copy), array) < 0) throw nb::python_error();
    tensor->array = std::move(copy);
  }
  return PyArray_DATA(AsArray(tensor->array));
}

uint64_t SizeInBytes(const Tensor& tensor) {
  return static_cast<uint64_t>(PyArray_NBYTES(AsArray(tensor.array)));
}

const char* DTypeName(dgrad_dtype dtype) {
  switch (dtype) {
    case DGRAD_FLOAT16:
      return "float16";
    case DGRAD_BFLOAT16:
      return "bfloat16";
    case DGRAD_FLOAT32:
      return "float32";
    case DGRAD_FLOAT64:
      return "float64";
    case DGRAD_INT32:
      return "int32";
    default:
      return "unsupported";
  }
}

dgrad_dtype ToDType(nb::handle numpy_dtype) {
  if (!PyArray_DescrCheck(numpy_dtype.ptr())) return 0;
  auto* descr = reinterpret_cast<PyArray_Descr*>(numpy_dtype.ptr());
  if (!PyArray_ISNBO(descr->byteorder)) return 0;
  return FromTypeNumber(descr->type_num, PyDataType_ELSIZE(descr));
}

nb::object NumpyDType(dgrad_dtype dtype) { return nb::borrow(g_dtypes[dtype]); }

nb::object NewArray(dgrad_dtype dtype, const int64_t shape[4]) {
  npy_intp dims[4];
  std::copy(shape, shape + 4, dims);
  auto* const descr = reinterpret_cast<PyArray_Descr*>(NumpyDType(dtype).release().ptr());
  npy_intp bytes = PyDataType_ELSIZE(descr);
  for (const npy_intp dim : dims) {
    if (__builtin_mul_overflow(bytes, dim, &bytes)) bytes = 0;  // NumPy will refuse
  }
  const UseResultMemory memory(static_cast<size_t>(bytes));
  PyObject* array = PyArray_Empty(4, dims, descr, 0);
  if (array == nullptr) {  // also NumPy's ValueError for arrays beyond the address space
    PyErr_Clear();
    throw Failure(Kind::kMemory, "no memory for the result of shape " + ShapeText(shape, 4) +
                                     " and type " + DTypeName(dtype));
  }
  return nb::steal(array);
}

void CheckOut(nb::handle out, dgrad_dtype dtype, const int64_t shape[4], const Tensor* inputs,
              int count) {
  if (!IsArray(out)) ThrowType("out must be a NumPy array; given " + Describe(out));
  PyArrayObject* array = AsArray(out);
  Tensor given;
  SetArray(nb::borrow(out), &given);
  if (given.dtype != dtype) {
    ThrowInvalid(std::string("out must be of type ") + DTypeName(dtype) + "; given " +
                 (given.dtype == 0 ? given.type_name : DTypeName(given.dtype)));
  }
  if (given.shape.size() != 4 || !std::equal(shape, shape + 4, given.shape.begin())) {
    ThrowInvalid("out must have the shape of the result, " + ShapeText(shape, 4) + "; given " +
                 ShapeText(given.shape.data(), given.shape.size()));
  }
  if (!PyArray_ISWRITEABLE(array)) ThrowInvalid("out must be writeable; given a read-only array");
  if (!PyArray_IS_C_CONTIGUOUS(array) || !PyArray_ISALIGNED(array)) {
    ThrowInvalid("out must be C-contiguous and aligned; given a strided or unaligned array");
  }
  for (int i = 0; i < count; ++i) {
    if (SharesMemory(array, AsArray(inputs[i].array))) {
      ThrowInvalid(std::string("out must not share memory with ") + inputs[i].argument);
    }
  }
}

void* MutableData(nb::handle array) { return PyArray_DATA(AsArray(array)); }

std::string ShapeText(const int64_t* shape, size_t rank) {
  std::string text = "[";
  for (size_t i = 0; i < rank; ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

nb::object IntegerArrayAsList(nb::handle value, const char* argument, int64_t max_size) {
  nb::object array;
  if (IsArray(value) || HasArrayMethod(value)) {
    array = AsNumpy(value, argument);
  } else {
    array = nb::module_::import_("numpy").attr("from_dlpack")(value);
  }
  PyArrayObject* a = AsArray(array);
  if (!PyTypeNum_ISINTEGER(PyArray_TYPE(a))) {
    nb::object name = nb::str(nb::handle(reinterpret_cast<PyObject*>(PyArray_DESCR(a))));
    ThrowType(std::string(argument) + " must hold integers; given an array of type " +
              nb::cast<nb::str>(name).c_str());
  }
  if (PyArray_NDIM(a) != 1) {
    ThrowInvalid(std::string(argument) + " must have 1 dimension; given an array of " +
                 std::to_string(PyArray_NDIM(a)));
  }
  if (PyArray_DIM(a, 0) > max_size) {
    ThrowInvalid(std::string(argument) + " must have 4 elements; given an array of " +
                 std::to_string(PyArray_DIM(a, 0)));
  }
  PyObject* list = PyArray_ToList(a);
  if (list == nullptr) throw nb::python_error();
  return nb::steal(list);
}

}  // namespace dgrad_python
