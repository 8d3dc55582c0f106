// NumPy's C interface, set up for one module of several files: NumPy 1.22 and later at run time.
#ifndef DGRAD_PYTHON_BINDINGS_NUMPY_API_H_
#define DGRAD_PYTHON_BINDINGS_NUMPY_API_H_

#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#define NPY_TARGET_VERSION NPY_1_22_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL dgrad_python_numpy_api
#ifndef DGRAD_PYTHON_IMPORTS_NUMPY  // one file defines the table of functions
#define NO_IMPORT_ARRAY
#endif

// Python.h comes first.
#include <nanobind/nanobind.h>
// After it:
#include <numpy/arrayobject.h>

#endif  // DGRAD_PYTHON_BINDINGS_NUMPY_API_H_
