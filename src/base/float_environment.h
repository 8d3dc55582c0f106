// The floating-point state kernels run under, for the life of a scope: round to nearest, exceptions
// masked, subnormals flushed to zero on input and output. At the end the thread gets back exactly
// what it had, sticky exception flags included.
//
// The compiler does not know that arithmetic depends on this state and may move it across; so the
// scope must hold a call that can't be inlined. The x87 unit is left alone: kernels don't use it.
#ifndef DGRAD_BASE_FLOAT_ENVIRONMENT_H_
#define DGRAD_BASE_FLOAT_ENVIRONMENT_H_

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#elif !defined(__aarch64__)
#include <cfenv>
#endif

namespace dgrad {

class FloatEnvironment {
 public:
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

#if defined(__x86_64__)
  FloatEnvironment() : saved_(_mm_getcsr()) { _mm_setcsr(kControl); }
  ~FloatEnvironment() { _mm_setcsr(saved_); }

 private:
  // MXCSR: flush-to-zero, all six exceptions masked, denormals-are-zero.
  static constexpr unsigned kControl = 0x8000 | 0x1f80 | 0x0040;
  const unsigned saved_;

#elif defined(__aarch64__)
  FloatEnvironment() {
    asm volatile("mrs %0, fpcr" : "=r"(control_));
    asm volatile("mrs %0, fpsr" : "=r"(flags_));
    asm volatile("msr fpcr, %0" : : "r"(kControl) : "memory");
  }
  ~FloatEnvironment() {
    asm volatile("msr fpcr, %0" : : "r"(control_) : "memory");
    asm volatile("msr fpsr, %0" : : "r"(flags_) : "memory");
  }

 private:
  // FPCR: FZ alone. FZ16 stays off, for float16 subnormals are values like any other.
  static constexpr uint64_t kControl = uint64_t{1} << 24;
  uint64_t control_;
  uint64_t flags_;

#else  // subnormals are kept, which is slower but right
  FloatEnvironment() {
    std::feholdexcept(&saved_);
    std::fesetround(FE_TONEAREST);
  }
  ~FloatEnvironment() { std::fesetenv(&saved_); }

 private:
  std::fenv_t saved_;
#endif
};

}  // namespace dgrad

#endif  // DGRAD_BASE_FLOAT_ENVIRONMENT_H_
