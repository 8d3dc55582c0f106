// A static object that is built by the compiler and never destroyed: threads may still use it while
// the process exits.
#ifndef DGRAD_BASE_NO_DESTRUCTOR_H_
#define DGRAD_BASE_NO_DESTRUCTOR_H_

namespace dgrad {

// Declare it constinit.
template <typename T>
union NoDestructor {
  constexpr NoDestructor() : value() {}
  ~NoDestructor() {}

  T value;
};

}  // namespace dgrad

#endif  // DGRAD_BASE_NO_DESTRUCTOR_H_
