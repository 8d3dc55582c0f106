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
          std::vector<T> b = Small<T>(5, kernels::kTapsDots * pitch);
          for (int64_t c = 0; c < kernels::kTapsDots; ++c) {
            for (int64_t k = terms; k < pitch; ++k) b[static_cast<size_t>(c * pitch + k)] = T{0};
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
                      b[static_cast<size_t>(i % kernels::kTapsDots * pitch + k)];
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

TYPED_TEST(TapsKernelsTest, Sum) {
  using T = TypeParam;
  constexpr int64_t kSources = 3;
  for (const Isa isa : UsableIsas()) {
    const auto& family = kernels::Taps<T>(isa);
    for (int64_t width = 1; width <= 3 * family.lanes + 1; ++width) {
      const int64_t pitch = width + 7;
      for (int64_t groups = 1; groups <= 9; ++groups) {
        for (int64_t whole = 0; whole <= kSources; ++whole) {
          for (int64_t rest = 1; rest <= width; ++rest) {
            const int64_t size = groups * pitch + kernels::kTapsSlack;
            const std::vector<T> data = Small<T>(3, kSources * size);
            const T* source[kSources];
            for (int64_t s = 0; s < kSources; ++s) source[s] = data.data() + s * size;
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
                if (s < whole || i % width < rest) {
                  want += source[s][i / width * pitch + i % width];
                }
              }
              ASSERT_EQ(out[static_cast<size_t>(i)], want)
                  << Name(isa) << " width " << width << ", rest " << rest << ", groups " << groups
                  << ", whole " << whole << ", element " << i;
            }
            ASSERT_EQ(out.back(), T{9});
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace dgrad::testing
