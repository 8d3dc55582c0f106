// The header of a .npy file: a Python dictionary such as
//   {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
#ifndef DGRAD_CLI_NPY_HEADER_H_
#define DGRAD_CLI_NPY_HEADER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dgrad::cli {

struct NpyFields {
  std::string descr;  // "[...]" for a structured type
  bool fortran_order = false;
  std::vector<int64_t> shape;  // every size is >= 0
};

// Throws a Failure that begins with `name` for anything but exactly these three keys.
NpyFields ParseNpyHeader(std::string_view text, const std::string& name);

}  // namespace dgrad::cli

#endif  // DGRAD_CLI_NPY_HEADER_H_
