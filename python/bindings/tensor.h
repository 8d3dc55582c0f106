// Arrays from Python: NumPy, DLPack, the buffer protocol, __array__ and nested lists, all as NumPy
// arrays. The only files that know NumPy's C interface are tensor.cc,
// dlpack.cc and result_memory.cc.
#ifndef DGRAD_PYTHON_BINDINGS_TENSOR_H_
#define DGRAD_PYTHON_BINDINGS_TENSOR_H_

#include <dgrad/dgrad.h>
#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <vector>

namespace dgrad_python {

namespace nb = nanobind;

// A tensor as it was given: nothing is copied and its element type may be unsupported.
struct Tensor {
  const char* argument = "";   // its word in messages
  nb::object array;            // a NumPy array; null for a DLPack type that NumPy doesn't know
  std::vector<int64_t> shape;  // data() is never null
  dgrad_dtype dtype = 0;       // 0: unsupported
  std::string type_name;       // of an unsupported type
};

// Loads NumPy's C interface and ml_dtypes; called once, from the module's initialisation.
void InitTensors();

// NumPy array, DLPack, buffer protocol or __array__.
bool IsArrayLike(nb::handle value);
bool IsNestedList(nb::handle value);
bool IsNumpyBool(nb::handle value);  // a scalar, which is an integer by __index__ before NumPy 1.24

// TypeError for what is no array, InvalidArgumentError for None (missing). `like`: the element type
// that a nested list takes, 0 for its own (floats: float32, ints: int32).
Tensor ReadTensor(nb::handle value, const char* argument, dgrad_dtype like = 0);

// Throws unless the element type is one of the five, in native byte order.
void CheckDType(const Tensor& tensor);

// The elements in C order and aligned; a copy (kept in tensor->array) where they are not yet.
// Call it only for shapes that are known to be legal: a broadcast view may be small in memory.
const void* Contiguous(Tensor* tensor);
uint64_t SizeInBytes(const Tensor& tensor);

const char* DTypeName(dgrad_dtype dtype);     // "float32"
dgrad_dtype ToDType(nb::handle numpy_dtype);  // 0: unsupported or of foreign byte order
nb::object NumpyDType(dgrad_dtype dtype);

// An uninitialised array. MemoryError when it is too large.
nb::object NewArray(dgrad_dtype dtype, const int64_t shape[4]);

// Throws unless `out` is a NumPy array of this type and shape, writeable, C-contiguous and aligned,
// that shares no memory with the inputs.
void CheckOut(nb::handle out, dgrad_dtype dtype, const int64_t shape[4], const Tensor* inputs,
              int count);
void* MutableData(nb::handle array);

// "[1, 4, 5, 2]"
std::string ShapeText(const int64_t* shape, size_t rank);

// A list of Python integers from a 1-D integer array-like of at most `max_size` elements.
nb::object IntegerArrayAsList(nb::handle value, const char* argument, int64_t max_size);

}  // namespace dgrad_python

#endif  // DGRAD_PYTHON_BINDINGS_TENSOR_H_
