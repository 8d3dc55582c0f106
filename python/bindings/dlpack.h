// Reading tensors through DLPack, bfloat16 included (which numpy.from_dlpack refuses).
#ifndef DGRAD_PYTHON_BINDINGS_DLPACK_H_
#define DGRAD_PYTHON_BINDINGS_DLPACK_H_

#include "tensor.h"

namespace dgrad_python {

bool HasDLPack(nb::handle value);

// A view of the tensor behind value.__dlpack__(); tensor->array keeps its capsule alive. Throws
// InvalidArgumentError when it is not in the memory of the CPU.
void ReadDLPack(nb::handle value, Tensor* tensor);

}  // namespace dgrad_python

#endif  // DGRAD_PYTHON_BINDINGS_DLPACK_H_
