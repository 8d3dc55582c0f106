// Taps as columns: every product tile, and sums of narrow, whole and wide groups.
#include "src/kernels/taps/taps.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/check.h"

namespace dgrad::testing {
namespace {

// Small integers: every sum is exact.
template <typename T>
std::vector<T> Small(uint64_t seed, int64_t count) {
  std::vector<T> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<T>(static_cast<int64_t>(Random(seed, i) % 7) - 3);
  }
  return values;
}

template <typename T>
class TapsKernelsTest : public ::testing::Test {};
using Types = ::testing::Types<float, double, int32_t>;
TYPED_TEST_SUITE(TapsKernelsTest, Types);

TYPED_TEST(TapsKernelsTest, Product) {
  using T = TypeParam;
  constexpr int64_t kTerms = 9;
  struct Pitches {
    int64_t row, term;
  };
  for (const Isa isa : UsableIsas()) {
    const auto& family = kernels::Taps<T>(isa);
    const std::vector<T> a = Small<T>(1, 1000);
    for (int vectors = 1; vectors <= kernels::kTapsMaxVectors; ++vectors) {
      const int64_t width = vectors * family.lanes;
      const int64_t b_term = width + vectors - 1;
      const std::vector<T> b = Small<T>(2, kTerms * b_term);
      for (int rows = 1; rows <= family.max_rows[vectors]; ++rows) {
        for (const Pitches pitch : {Pitches{11, 1}, Pitches{1, 31}}) {
          for (const bool accumulate : {false, true}) {
            std::vector<T> out(static_cast<size_t>(rows * (width + 5)), T{9});
            kernels::TapsProductCall<T> call;
            call.a = a.data();
            call.a_row = pitch.row;
            call.a_term = pitch.term;
            call.b = b.data();
            call.b_term = b_term;
            call.terms = kTerms;
            call.out = out.data();
            call.out_row = width + 5;
            call.accumulate = accumulate;
            call.ahead = a.data();
            call.ahead_step = 100000;
            family.products[vectors][rows](call);
            for (int64_t r = 0; r < rows; ++r) {
              for (int64_t c = 0; c < width + 5; ++c) {
                T want{9};
                if (c < width) {
                  if (!accumulate) want = T{0};
                  for (int64_t k = 0; k < kTerms; ++k) {
                    want += a[static_cast<size_t>(r * pitch.row + k * pitch.term)] *
                            b[static_cast<size_t>(k * b_term + c)];
                  }
                }
                ASSERT_EQ(out[static_cast<size_t>(r * (width + 5) + c)], want)
                    << Name(isa) << " " << rows << " x " << vectors << ", row " << r << ", column "
                    << c;
              }
            }
          }
        }
      }
    }
  }
}

TYPED_TEST(TapsKernelsTest, Dots) {
  using T = TypeParam;
  for (const Isa isa : UsableIsas()) {
    const auto& family = kernels::Taps<T>(isa);
    if (family.dot_rows == 0) continue;
    for (int64_t terms = 1; terms <= 3 * family.lanes; ++terms) {
      const int64_t pitch = (terms + family.lanes - 1) / family.lanes * family.lanes;
      for (int64_t rows = 1; rows <= 9; ++rows) {
        for (const int64_t a_row : {terms, terms + 3}) {
          // Nothing behind the last row's last term is read: it would fail under a sanitizer.
          const std::vector<T> a = Small<T>(4, (rows - 1) * a_row + terms);
          const std::vector<T> values = Small<T>(5, kernels::kTapsDots * pitch);
          std::vector<T> b(values.size(), T{0});
          for (int64_t c = 0; c < kernels::kTapsDots; ++c) {
            for (int64_t k = 0; k < terms; ++k) {
              b[static_cast<size_t>(kernels::TapsDotsAt(family.lanes, k, c))] =
                  values[static_cast<size_t>(c * pitch + k)];
            }
          }
          const int64_t written =
              (rows + family.dot_rows - 1) / family.dot_rows * family.dot_rows * kernels::kTapsDots;
          std::vector<T> out(static_cast<size_t>(written + 1), T{9});
          kernels::TapsDotsCall<T> call;
          call.a = a.data();
          call.a_row = a_row;
          call.b = b.data();
          call.terms = terms;
          call.rows = rows;
          call.out = out.data();
          call.ahead = 1000000;
          family.dots(call);
          for (int64_t i = 0; i < rows * kernels::kTapsDots; ++i) {
            T want{0};
            for (int64_t k = 0; k < terms; ++k) {
              want += a[static_cast<size_t>(i / kernels::kTapsDots * a_row + k)] *
                      values[static_cast<size_t>(i % kernels::kTapsDots * pitch + k)];
            }
            ASSERT_EQ(out[static_cast<size_t>(i)], want)
                << Name(isa) << " terms " << terms << ", rows " << rows << ", element " << i;
          }
          ASSERT_EQ(out.back(), T{9});
        }
      }
    }
  }
}

// Sums of kSources sources, of which `whole` count for whole groups.
template <typename T>
void CheckSum(Isa isa, int64_t width, int64_t pitch, int64_t groups, int64_t whole, int64_t rest) {
  constexpr int64_t kSources = 3;
  const auto& family = kernels::Taps<T>(isa);
  const int64_t size = (groups - 1) * pitch + width + kernels::kTapsSlack;
  const std::vector<T> data = Small<T>(3, kSources * size);
  std::vector<std::vector<T>> rows;  // apart, so that a sanitizer sees what is read behind them
  const T* source[kSources];
  for (int64_t s = 0; s < kSources; ++s) {
    rows.emplace_back(data.begin() + s * size, data.begin() + (s + 1) * size);
  }
  for (int64_t s = 0; s < kSources; ++s) source[s] = rows[static_cast<size_t>(s)].data();
  std::vector<T> out(static_cast<size_t>(groups * width + kernels::kTapsSlack + 1), T{9});
  kernels::TapsSumCall<T> call;
  call.source = source;
  call.sources = kSources;
  call.whole = whole;
  call.width = width;
  call.rest = rest;
  call.groups = groups;
  call.source_step = pitch;
  call.out = out.data();
  family.sum(call);
  for (int64_t i = 0; i < groups * width; ++i) {
    T want{0};
    for (int64_t s = 0; s < kSources; ++s) {
      if (s < whole || i % width < rest) want += source[s][i / width * pitch + i % width];
    }
    ASSERT_EQ(out[static_cast<size_t>(i)], want)
        << Name(isa) << " width " << width << ", pitch " << pitch << ", rest " << rest
        << ", groups " << groups << ", whole " << whole << ", element " << i;
  }
  ASSERT_EQ(out.back(), T{9});
}

TYPED_TEST(TapsKernelsTest, Sum) {
  using T = TypeParam;
  for (const Isa isa : UsableIsas()) {
    const auto& family = kernels::Taps<T>(isa);
    for (int64_t width = 1; width <= 3 * family.lanes + 1; ++width) {
      for (int64_t groups = 1; groups <= 9; ++groups) {
        for (int64_t whole = 0; whole <= 3; ++whole) {
          for (int64_t rest = 1; rest <= width; ++rest) {
            CheckSum<T>(isa, width, width + 7, groups, whole, rest);
            if (::testing::Test::HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

// Groups next to each other, several of which lie in two vectors.
TYPED_TEST(TapsKernelsTest, SumOfCloseGroups) {
  using T = TypeParam;
  for (const Isa isa : UsableIsas()) {
    const int64_t lanes = kernels::Taps<T>(isa).lanes;
    for (int64_t width = 1; width <= lanes; ++width) {
      for (int64_t pitch = width; pitch <= width + 9; ++pitch) {
        for (int64_t groups = 1; groups <= 2 * lanes + 3; ++groups) {
          for (const int64_t whole : {2, 3}) {
            CheckSum<T>(isa, width, pitch, groups, whole, 1);
            if (::testing::Test::HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace dgrad::testing
