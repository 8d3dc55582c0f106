#include "src/base/float_environment.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <limits>

namespace dgrad {
namespace {

// Calls that can't be inlined or moved, so that each operation happens where it stands.
[[gnu::noinline]] double Multiply(double a, double b) {
  volatile double x = a;
  volatile double result = x * b;
  return result;
}
[[gnu::noinline]] double Divide(double a, double b) {
  volatile double x = a;
  volatile double result = x / b;
  return result;
}

constexpr double kMin = std::numeric_limits<double>::min();
constexpr double kSubnormal = kMin / 4;

// Puts back the state that the test found.
class FloatEnvironmentTest : public testing::Test {
 protected:
  void SetUp() override { std::fegetenv(&before_); }
  void TearDown() override { std::fesetenv(&before_); }

 private:
  std::fenv_t before_;
};

#if defined(__x86_64__) || defined(__aarch64__)
TEST_F(FloatEnvironmentTest, SubnormalsAreFlushedInsideOnly) {
  EXPECT_GT(Multiply(kMin, 0.25), 0.0);
  EXPECT_GT(Multiply(kSubnormal, 4.0), 0.0);
  {
    const FloatEnvironment environment;
    EXPECT_EQ(Multiply(kMin, 0.25), 0.0);       // a result
    EXPECT_EQ(Multiply(kSubnormal, 4.0), 0.0);  // an operand
    EXPECT_EQ(Multiply(kMin, 2.0), 2 * kMin);
  }
  EXPECT_GT(Multiply(kMin, 0.25), 0.0);
  EXPECT_GT(Multiply(kSubnormal, 4.0), 0.0);
}
#endif

TEST_F(FloatEnvironmentTest, RoundsToNearestInsideOnly) {
  const double nearest = Divide(1.0, 3.0);
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  const double upward = Divide(1.0, 3.0);
  ASSERT_GT(upward, nearest);
  {
    const FloatEnvironment environment;
    EXPECT_EQ(Divide(1.0, 3.0), nearest);
  }
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  EXPECT_EQ(Divide(1.0, 3.0), upward);
}

TEST_F(FloatEnvironmentTest, StickyFlagsAreTheCallers) {
  std::feclearexcept(FE_ALL_EXCEPT);
  {
    const FloatEnvironment environment;
    Divide(1.0, 0.0);
    Divide(0.0, 0.0);
    Divide(1.0, 3.0);
  }
  EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), 0);

  Divide(1.0, 0.0);
  ASSERT_EQ(std::fetestexcept(FE_ALL_EXCEPT), FE_DIVBYZERO);
  {
    const FloatEnvironment environment;
    Divide(0.0, 0.0);
  }
  EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), FE_DIVBYZERO);
}

#if defined(__x86_64__)
// The C library's call is GNU's, and few Arm cores can trap.
TEST_F(FloatEnvironmentTest, UnmaskedExceptionsDoNotTrapInside) {
  std::feclearexcept(FE_ALL_EXCEPT);
  ASSERT_NE(feenableexcept(FE_DIVBYZERO | FE_INVALID), -1);
  {
    const FloatEnvironment environment;
    EXPECT_EQ(Divide(1.0, 0.0), std::numeric_limits<double>::infinity());
  }
  EXPECT_EQ(_mm_getcsr() & 0x1f80, 0x1f80u & ~0x0280u);  // divide-by-zero and invalid still trap
  fedisableexcept(FE_ALL_EXCEPT);
}

TEST_F(FloatEnvironmentTest, TheWholeRegisterComesBack) {
  for (unsigned state : {0x1f80u, 0x9fc0u, 0x7fbfu, 0x1fbfu, 0x3fc0u}) {
    _mm_setcsr(state);
    { const FloatEnvironment environment; }
    const unsigned after = _mm_getcsr();
    _mm_setcsr(0x1f80);
    EXPECT_EQ(after, state);
  }
}
#endif

}  // namespace
}  // namespace dgrad
