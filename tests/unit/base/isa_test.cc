#include "src/base/isa.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "src/base/cache_size.h"

namespace dgrad {
namespace {

using ::testing::Test;

constexpr Isa kAll[] = {Isa::kAuto, Isa::kScalar, Isa::kSse4, Isa::kNeon, Isa::kAvx2, Isa::kAvx512};

#if defined(__x86_64__)
constexpr Isa kForeign = Isa::kNeon;
#else
constexpr Isa kForeign = Isa::kAvx2;
#endif

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

bool Detected(Isa isa) {
  const std::vector<Isa>& found = DetectedIsas();
  return std::find(found.begin(), found.end(), isa) != found.end();
}

// Each test begins and ends without DGRAD_ISA, whatever the caller's environment has.
class IsaTest : public Test {
 protected:
  void SetUp() override {
    if (const char* word = std::getenv("DGRAD_ISA")) before_ = word;
    unsetenv("DGRAD_ISA");
  }
  void TearDown() override {
    if (before_.empty()) {
      unsetenv("DGRAD_ISA");
    } else {
      setenv("DGRAD_ISA", before_.c_str(), 1);
    }
  }

 private:
  std::string before_;
};

TEST_F(IsaTest, NamesParseBack) {
  for (Isa isa : kAll) {
    Isa parsed = isa == Isa::kAuto ? Isa::kScalar : Isa::kAuto;
    ASSERT_TRUE(ParseIsa(Name(isa), &parsed).ok()) << Name(isa);
    EXPECT_EQ(parsed, isa);
  }
}

TEST_F(IsaTest, OtherWordsAreRefusedWithTheList) {
  for (const char* word : {"", "AVX2", "avx", "avx2 ", "sse4.2", "avx512f"}) {
    Isa isa = Isa::kNeon;
    const Status status = ParseIsa(word, &isa);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << word;
    EXPECT_EQ(isa, Isa::kNeon);
    EXPECT_TRUE(Contains(status.message(), "\"" + std::string(word) + "\"")) << status.message();
    for (Isa legal : kAll) EXPECT_TRUE(Contains(status.message(), Name(legal)));
  }
}

TEST_F(IsaTest, DetectedAreInFallingOrderAndEndWithScalar) {
  const std::vector<Isa>& found = DetectedIsas();
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.back(), Isa::kScalar);
  for (size_t i = 1; i < found.size(); ++i) EXPECT_GT(found[i - 1], found[i]);
  EXPECT_EQ(&found, &DetectedIsas());
#if defined(__aarch64__)
  EXPECT_EQ(found, (std::vector<Isa>{Isa::kNeon, Isa::kScalar}));
#endif
}

#if defined(__x86_64__) && defined(__linux__)
// The kernel's own list of what it has found and enabled.
TEST_F(IsaTest, AgreesWithTheKernel) {
  std::ifstream file("/proc/cpuinfo");
  std::set<std::string> flags;
  bool same_machine = false;
  for (std::string line; std::getline(file, line) && flags.empty();) {
    if (line.rfind("model name", 0) == 0) same_machine = Contains(line, CpuModelName());
    if (line.rfind("flags", 0) != 0) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    for (std::string word; words >> word;) flags.insert(word);
  }
  if (!same_machine) GTEST_SKIP() << "/proc/cpuinfo tells of the machine below an emulator";
  const auto has = [&flags](std::initializer_list<const char*> wanted) {
    return std::all_of(wanted.begin(), wanted.end(),
                       [&flags](const char* flag) { return flags.count(flag) != 0; });
  };
  const bool sse4 = has({"ssse3", "sse4_1", "sse4_2"});
  const bool avx2 = sse4 && has({"avx", "avx2", "fma", "f16c", "bmi1", "bmi2", "abm"});
  const bool avx512 = avx2 && has({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"});
  EXPECT_EQ(Detected(Isa::kSse4), sse4);
  EXPECT_EQ(Detected(Isa::kAvx2), avx2);
  EXPECT_EQ(Detected(Isa::kAvx512), avx512);
}
#endif

// scripts/test-emulated knows what the processors that it emulates have.
TEST_F(IsaTest, AnEmulatedProcessorIsSeen) {
  const char* wanted = std::getenv("DGRAD_TEST_ISA");
  if (wanted == nullptr) GTEST_SKIP() << "DGRAD_TEST_ISA is not set";
  EXPECT_STREQ(Name(DetectedIsas().front()), wanted);
}

TEST_F(IsaTest, AutoIsTheBest) {
  Isa isa = Isa::kAuto;
  ASSERT_TRUE(ResolveIsa(Isa::kAuto, &isa).ok());
  EXPECT_EQ(isa, DetectedIsas().front());
  setenv("DGRAD_ISA", "", 1);
  isa = Isa::kAuto;
  ASSERT_TRUE(ResolveIsa(Isa::kAuto, &isa).ok());
  EXPECT_EQ(isa, DetectedIsas().front());
  setenv("DGRAD_ISA", "auto", 1);
  isa = Isa::kAuto;
  ASSERT_TRUE(ResolveIsa(Isa::kAuto, &isa).ok());
  EXPECT_EQ(isa, DetectedIsas().front());
}

// As an option and as the environment variable.
TEST_F(IsaTest, ACapAdmitsWhatIsBelowIt) {
  for (Isa cap : DetectedIsas()) {
    Isa isa = Isa::kAuto;
    ASSERT_TRUE(Detected(cap));
    ASSERT_TRUE(ResolveIsa(cap, &isa).ok());
    EXPECT_EQ(isa, cap);
    setenv("DGRAD_ISA", Name(cap), 1);
    isa = Isa::kAuto;
    ASSERT_TRUE(ResolveIsa(Isa::kAuto, &isa).ok());
    EXPECT_EQ(isa, cap);
  }
#if defined(__x86_64__)
  // Legal, whatever the machine has: the result is the best that is not above.
  for (Isa cap : {Isa::kSse4, Isa::kAvx2, Isa::kAvx512}) {
    Isa isa = Isa::kAuto;
    ASSERT_TRUE(ResolveIsa(cap, &isa).ok());
    EXPECT_LE(isa, cap);
    EXPECT_TRUE(Detected(isa));
  }
#endif
}

TEST_F(IsaTest, AnOptionWinsOverTheEnvironment) {
  for (const char* word : {"scalar", "nonsense"}) {
    setenv("DGRAD_ISA", word, 1);
    Isa isa = Isa::kAuto;
    ASSERT_TRUE(ResolveIsa(DetectedIsas().front(), &isa).ok());
    EXPECT_EQ(isa, DetectedIsas().front());
  }
}

TEST_F(IsaTest, AForeignCapIsRefused) {
  Isa isa = Isa::kAuto;
  const Status option = ResolveIsa(kForeign, &isa);
  EXPECT_EQ(option.code(), Code::kInvalidArgument);
  EXPECT_TRUE(Contains(option.message(), Name(kForeign))) << option.message();
  EXPECT_TRUE(Contains(option.message(), "auto, scalar")) << option.message();

  setenv("DGRAD_ISA", Name(kForeign), 1);
  const Status environment = ResolveIsa(Isa::kAuto, &isa);
  EXPECT_EQ(environment.code(), Code::kInvalidArgument);
  EXPECT_TRUE(Contains(environment.message(), "DGRAD_ISA")) << environment.message();
  EXPECT_EQ(isa, Isa::kAuto);
}

TEST_F(IsaTest, UnknownValuesAreRefused) {
  Isa isa = Isa::kAuto;
  for (int32_t value : {-1, 6, 1 << 30}) {
    const Status status = ResolveIsa(static_cast<Isa>(value), &isa);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_TRUE(Contains(status.message(), std::to_string(value))) << status.message();
  }
  setenv("DGRAD_ISA", "fastest", 1);
  const Status status = ResolveIsa(Isa::kAuto, &isa);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_TRUE(Contains(status.message(), "DGRAD_ISA")) << status.message();
  EXPECT_TRUE(Contains(status.message(), "\"fastest\"")) << status.message();
  EXPECT_TRUE(Contains(status.message(), "scalar")) << status.message();
  EXPECT_EQ(isa, Isa::kAuto);
}

}  // namespace
}  // namespace dgrad
