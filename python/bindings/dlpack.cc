#include "dlpack.h"

#include <limits>

#include "errors.h"
#include "numpy_api.h"

namespace dgrad_python {
namespace {

// The binary layout that DLPack's specification fixes (versions 0.x and 1.x).
struct DLDevice {
  int32_t type;
  int32_t id;
};
struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  const int64_t* shape;
  const int64_t* strides;  // in elements; null: C order
  uint64_t byte_offset;
};
struct DLManagedTensor {  // capsule "dltensor"
  DLTensor tensor;
  void* manager;
  void (*deleter)(DLManagedTensor*);
};
struct DLManagedTensorVersioned {  // capsule "dltensor_versioned"
  uint32_t major;
  uint32_t minor;
  void* manager;
  void (*deleter)(DLManagedTensorVersioned*);
  uint64_t flags;
  DLTensor tensor;
};

enum DeviceType : int32_t { kCpu = 1, kCudaHost = 3, kRocmHost = 11 };  // all are CPU memory
enum TypeCode : uint8_t { kInt = 0, kUint = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6 };

bool IsCpu(int64_t device) { return device == kCpu || device == kCudaHost || device == kRocmHost; }

dgrad_dtype Supported(const DLDataType& type) {
  if (type.lanes != 1) return 0;
  if (type.code == kFloat && type.bits == 16) return DGRAD_FLOAT16;
  if (type.code == kFloat && type.bits == 32) return DGRAD_FLOAT32;
  if (type.code == kFloat && type.bits == 64) return DGRAD_FLOAT64;
  if (type.code == kBfloat && type.bits == 16) return DGRAD_BFLOAT16;
  if (type.code == kInt && type.bits == 32) return DGRAD_INT32;
  return 0;
}

std::string NameOf(const DLDataType& type) {
  const std::string bits = std::to_string(type.bits);
  std::string name = "a type of DLPack code " + std::to_string(type.code) + ", " + bits + " bits";
  if (type.code == kInt) name = "int" + bits;
  if (type.code == kUint) name = "uint" + bits;
  if (type.code == kFloat) name = "float" + bits;
  if (type.code == kComplex) name = "complex" + bits;
  if (type.code == kBool) name = "bool";
  return type.lanes == 1 ? name : name + " x " + std::to_string(type.lanes);
}

[[noreturn]] void ThrowNotCpu(const char* argument, int64_t device) {
  ThrowInvalid(std::string(argument) +
               " must be in the memory of the CPU; given a tensor on DLPack device type " +
               std::to_string(device) + " (copy it to the CPU first)");
}

void CheckDevice(nb::handle value, const char* argument) {
  if (!nb::hasattr(value, "__dlpack_device__")) return;  // the tensor itself says it once more
  PyObject* pair = PyObject_CallMethod(value.ptr(), "__dlpack_device__", nullptr);
  if (pair == nullptr) ThrowWithCause(argument);
  const nb::object owner = nb::steal(pair);
  if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2) {
    ThrowType(std::string(argument) + ": __dlpack_device__ must return a pair");
  }
  const int64_t device = PyLong_AsLongLong(PyTuple_GET_ITEM(pair, 0));
  if (device == -1 && PyErr_Occurred()) ThrowWithCause(argument);
  if (!IsCpu(device)) ThrowNotCpu(argument, device);
}

// The capsule, versioned where the producer can: only that form can hold read-only tensors.
nb::object Export(nb::handle value, const char* argument) {
  const nb::object method = nb::steal(PyObject_GetAttrString(value.ptr(), "__dlpack__"));
  if (!method.is_valid()) ThrowWithCause(argument);
  const nb::object none = nb::steal(PyTuple_New(0));
  const nb::object keywords = nb::steal(Py_BuildValue("{s:(ii)}", "max_version", 1, 1));
  if (!none.is_valid() || !keywords.is_valid()) throw nb::python_error();
  PyObject* capsule = PyObject_Call(method.ptr(), none.ptr(), keywords.ptr());
  if (capsule == nullptr && PyErr_ExceptionMatches(PyExc_TypeError)) {  // an older producer
    PyErr_Clear();
    capsule = PyObject_Call(method.ptr(), none.ptr(), nullptr);
  }
  if (capsule == nullptr) ThrowWithCause(argument);
  return nb::steal(capsule);
}

// The tensor inside. We never rename the capsule, so its own destructor releases the memory.
const DLTensor& Unwrap(const nb::object& capsule, const char* argument) {
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned")) {
    const auto* managed = static_cast<const DLManagedTensorVersioned*>(
        PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned"));
    if (managed->major != 1) {
      ThrowInvalid(std::string(argument) + ": DLPack version " + std::to_string(managed->major) +
                   " is not known, only 1 and 0");
    }
    return managed->tensor;
  }
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor")) {
    return static_cast<const DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"))
        ->tensor;
  }
  ThrowType(std::string(argument) + ": __dlpack__ must return a DLPack capsule");
}

// Strides in bytes; false when the numbers make no sense.
bool ByteStrides(const DLTensor& source, int64_t item, npy_intp* strides) {
  int64_t elements = 1;
  bool fine = true;
  for (int i = source.ndim - 1; i >= 0; --i) {
    if (source.shape[i] < 0) return false;
    int64_t bytes = 0;
    const int64_t stride = source.strides != nullptr ? source.strides[i] : elements;
    fine = fine && !__builtin_mul_overflow(stride, item, &bytes);
    strides[i] = static_cast<npy_intp>(bytes);
    if (source.shape[i] > 0) {
      fine = fine && !__builtin_mul_overflow(elements, source.shape[i], &elements);
    }
  }
  return fine;
}

}  // namespace

bool HasDLPack(nb::handle value) { return nb::hasattr(value.type(), "__dlpack__"); }

void ReadDLPack(nb::handle value, Tensor* tensor) {
  const char* argument = tensor->argument;
  CheckDevice(value, argument);
  nb::object capsule = Export(value, argument);
  const DLTensor& source = Unwrap(capsule, argument);
  if (!IsCpu(source.device.type)) ThrowNotCpu(argument, source.device.type);
  constexpr int kMaxRank = 32;  // NumPy 1's
  if (source.ndim < 0 || source.ndim > kMaxRank || (source.ndim > 0 && source.shape == nullptr)) {
    ThrowInvalid(std::string(argument) + " must have 4 dimensions; given " +
                 std::to_string(source.ndim));
  }
  tensor->shape.assign(source.shape, source.shape + source.ndim);
  tensor->dtype = Supported(source.dtype);
  if (tensor->dtype == 0) {
    tensor->type_name = NameOf(source.dtype);
    return;
  }
  npy_intp shape[kMaxRank] = {};
  npy_intp strides[kMaxRank] = {};
  bool empty = false;
  for (int i = 0; i < source.ndim; ++i) {
    shape[i] = static_cast<npy_intp>(source.shape[i]);
    empty = empty || shape[i] == 0;
  }
  if (!ByteStrides(source, source.dtype.bits / 8, strides) || (source.data == nullptr && !empty)) {
    ThrowInvalid(std::string(argument) + ": __dlpack__ gave a tensor without sense, shape " +
                 ShapeText(source.shape, static_cast<size_t>(source.ndim)));
  }
  // An empty tensor may come without memory; NumPy then allocates its own.
  char* data = empty ? nullptr : static_cast<char*>(source.data) + source.byte_offset;
  PyObject* array = PyArray_NewFromDescr(
      &PyArray_Type, reinterpret_cast<PyArray_Descr*>(NumpyDType(tensor->dtype).release().ptr()),
      source.ndim, shape, empty ? nullptr : strides, data, 0, nullptr);
  if (array == nullptr) ThrowWithCause(argument);
  tensor->array = nb::steal(array);
  if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(array), capsule.release().ptr()) < 0) {
    throw nb::python_error();
  }
}

}  // namespace dgrad_python
