// NumPy's .npz files: zip archives of .npy files.
#ifndef DGRAD_CLI_NPZ_H_
#define DGRAD_CLI_NPZ_H_

#include <memory>
#include <string>

#include "byte_source.h"

namespace dgrad::cli {

// Opens the array `array` of the archive. Empty: the only one, or the one called `usual`. The sizes
// in the archive's directory are not looked at; only members stored or deflated are read.
// Throws a Failure, which lists the arrays where the name is the trouble.
std::unique_ptr<ByteSource> OpenMember(const std::string& path, const std::string& array,
                                       const std::string& usual);

// A tensor as the command line names it: FILE, or FILE:ARRAY for one of an archive.
std::unique_ptr<ByteSource> OpenTensor(const std::string& tensor, const std::string& usual);

}  // namespace dgrad::cli

#endif  // DGRAD_CLI_NPZ_H_
