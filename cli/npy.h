// NumPy's .npy files, format versions 1 to 3: little-endian, C order, the five types of the
// library. Nothing in a file is trusted: sizes are checked against what the file can hold and what
// the machine has before memory is taken.
//
// bfloat16, which the format doesn't know, follows ml_dtypes: written as '<V2'; '<V2' and '|V2' are
// read as bfloat16 if the caller says so.
#ifndef DGRAD_CLI_NPY_H_
#define DGRAD_CLI_NPY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "byte_source.h"
#include "output_file.h"
#include "progress.h"
#include "values.h"

namespace dgrad::cli {

// An array whose header has been read, and whose elements have not.
class NpyReader {
 public:
  // wanted: the type it must have; a V2 file is an error unless that is bfloat16. Throws a Failure.
  NpyReader(std::unique_ptr<ByteSource> source, std::optional<Dtype> wanted);

  Dtype dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  uint64_t bytes() const { return bytes_; }
  const std::string& name() const { return source_->name(); }

  // All elements; called once. A file that is too short or too long is a Failure.
  Buffer Read(Progress& progress);

 private:
  std::unique_ptr<ByteSource> source_;
  Dtype dtype_ = Dtype::kFloat32;
  std::vector<int64_t> shape_;
  uint64_t bytes_ = 0;
};

// What stands before the elements.
std::string NpyHeader(Dtype dtype, const std::vector<int64_t>& shape);

}  // namespace dgrad::cli

#endif  // DGRAD_CLI_NPY_H_
