// Structs that cross the C interface: both sides may know different versions of them.
#ifndef DGRAD_API_STRUCTS_H_
#define DGRAD_API_STRUCTS_H_

#include <dgrad/dgrad.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "src/base/status.h"

namespace dgrad {

// Bytes of each struct as first published (0.1.0): up to the end of its last field then. A smaller
// struct is refused; fields added later stay out of these numbers.
template <typename Struct>
inline constexpr uint64_t kFirstSize = 0;
template <>
inline constexpr uint64_t kFirstSize<dgrad_arguments> = offsetof(dgrad_arguments, reserved) +
                                                        sizeof(dgrad_arguments::reserved);
template <>
inline constexpr uint64_t kFirstSize<dgrad_problem_info> = offsetof(dgrad_problem_info, dtype) +
                                                           sizeof(dgrad_problem_info::dtype);
template <>
inline constexpr uint64_t kFirstSize<dgrad_executor> = offsetof(dgrad_executor, parallel_for) +
                                                       sizeof(dgrad_executor::parallel_for);
template <>
inline constexpr uint64_t kFirstSize<dgrad_run_arguments> = offsetof(dgrad_run_arguments,
                                                                     poll_user) +
                                                            sizeof(dgrad_run_arguments::poll_user);
template <>
inline constexpr uint64_t kFirstSize<dgrad_plan_options> = offsetof(dgrad_plan_options, algorithm) +
                                                           sizeof(dgrad_plan_options::algorithm);
template <>
inline constexpr uint64_t kFirstSize<dgrad_plan_info> = offsetof(dgrad_plan_info, threads) +
                                                        sizeof(dgrad_plan_info::threads);

// No struct of this interface comes near it, so a larger struct_size is an uninitialised one and
// the bytes behind it must not be read.
inline constexpr uint64_t kMaxStructSize = 4096;

// Untyped bodies of the two templates below.
Status ReadStructBytes(const char* name, const void* given, uint64_t first_size, uint64_t size,
                       void* out);
Status WriteStructBytes(const char* name, const void* filled, uint64_t first_size, uint64_t size,
                        void* out);

// Copies a caller's struct. Fields the caller does not know read as zero; fields that only the
// caller knows must be zero.
template <typename Struct>
Status ReadStruct(const char* name, const Struct* given, Struct* out) {
  static_assert(std::is_trivially_copyable_v<Struct> && offsetof(Struct, struct_size) == 0);
  return ReadStructBytes(name, given, kFirstSize<Struct>, sizeof(Struct), out);
}

// Fills what the caller's struct has room for; its struct_size stays as it is.
template <typename Struct>
Status WriteStruct(const char* name, const Struct& filled, Struct* out) {
  static_assert(std::is_trivially_copyable_v<Struct> && offsetof(Struct, struct_size) == 0);
  return WriteStructBytes(name, &filled, kFirstSize<Struct>, sizeof(Struct), out);
}

}  // namespace dgrad

#endif  // DGRAD_API_STRUCTS_H_
