// Every register tile of every instruction set, below, at and beyond its own sizes.
#include <gtest/gtest.h>

#include <vector>

#include "src/kernels/gemm/gemm.h"
#include "src/kernels/lanes/lanes.h"
#include "tests/support/check.h"

namespace dgrad::testing {
namespace {

using kernels::GemmStep;

// Small integers: every sum is exact.
template <typename T>
T Small(uint64_t seed, int64_t i) {
  return static_cast<T>(static_cast<int64_t>(Random(seed, static_cast<uint64_t>(i)) % 7) - 3);
}

constexpr int64_t kA = 4000;  // elements of a
// Two partial sums; the second step list entry of the first flushes.
const std::vector<GemmStep> kSteps = {{5, 0, 7, 0}, {-3, 7, 2, 1}, {40, 9, 1, 0}, {11, 10, 3, 1}};
constexpr int64_t kTerms = 13;

template <typename T>
class TilesTest : public ::testing::Test {};
using Types = ::testing::Types<float, double, int32_t>;
TYPED_TEST_SUITE(TilesTest, Types);

TYPED_TEST(TilesTest, Gemm) {
  using T = TypeParam;
  for (const Isa isa : UsableIsas()) {
    const auto& family = kernels::Gemm<T>(isa);
    std::vector<T> a(kA);
    for (int64_t i = 0; i < kA; ++i) a[static_cast<size_t>(i)] = Small<T>(1, i);
    for (int vectors = 1; vectors <= kernels::kGemmMaxVectors; ++vectors) {
      const int64_t width = vectors * family.lanes;
      std::vector<T> b(static_cast<size_t>(kTerms * width));
      for (size_t i = 0; i < b.size(); ++i) b[i] = Small<T>(2, static_cast<int64_t>(i));
      for (int rows = 1; rows <= family.max_rows[vectors]; ++rows) {
        for (int64_t columns = 1; columns <= width; ++columns) {
          for (const bool accumulate : {false, true}) {
            std::vector<int64_t> a_offsets, out_offsets;
            for (int r = 0; r < rows; ++r) {
              a_offsets.push_back(100 + 37 * r);
              out_offsets.push_back((rows - 1 - r) * (width + 5));
            }
            std::vector<T> out(static_cast<size_t>(rows * (width + 5)), T{9});
            kernels::GemmCall<T> call;
            call.a = a.data();
            call.a_offsets = a_offsets.data();
            call.b = b.data();
            call.out = out.data();
            call.out_offsets = out_offsets.data();
            call.steps = kSteps.data();
            call.step_count = static_cast<int64_t>(kSteps.size());
            call.columns = columns;
            call.accumulate = accumulate;
            family.kernels[vectors][rows](call);
            for (int r = 0; r < rows; ++r) {
              for (int64_t n = 0; n < width + 5; ++n) {
                T want{9};
                if (n < columns) {
                  if (!accumulate) want = T{0};
                  for (const GemmStep& step : kSteps) {
                    for (int64_t i = 0; i < step.terms; ++i) {
                      want += a[static_cast<size_t>(100 + 37 * r + step.a_offset + i)] *
                              b[static_cast<size_t>((step.b_row + i) * width + n)];
                    }
                  }
                }
                ASSERT_EQ(out[static_cast<size_t>(out_offsets[static_cast<size_t>(r)] + n)], want)
                    << Name(isa) << " " << rows << " x " << vectors << ", columns " << columns
                    << ", row " << r << ", column " << n;
              }
            }
          }
        }
      }
    }
  }
}

// Stores past the caches: rows of whole lines of cache, whole vectors and parts of one.
TYPED_TEST(TilesTest, GemmStreams) {
  using T = TypeParam;
  const GemmStep step = {0, 0, 5, 1};
  for (const Isa isa : UsableIsas()) {
    const auto& family = kernels::Gemm<T>(isa);
    for (int vectors = 1; vectors <= kernels::kGemmMaxVectors; ++vectors) {
      const int64_t width = vectors * family.lanes;
      const int64_t pitch = (width + 16) / 16 * 16 + 16;  // whole lines, more than is written
      std::vector<T> b(static_cast<size_t>(step.terms * width));
      for (size_t i = 0; i < b.size(); ++i) b[i] = Small<T>(2, static_cast<int64_t>(i));
      for (int rows = 1; rows <= family.max_rows[vectors]; ++rows) {
        for (int64_t columns = 1; columns <= width; ++columns) {
          std::vector<T> a(static_cast<size_t>(rows * step.terms));
          for (size_t i = 0; i < a.size(); ++i) a[i] = Small<T>(1, static_cast<int64_t>(i));
          std::vector<T> room(static_cast<size_t>(rows * pitch + 16), T{9});
          T* out = room.data();
          while (reinterpret_cast<uintptr_t>(out) % 64 != 0) ++out;
          std::vector<int64_t> a_offsets, out_offsets;
          for (int r = 0; r < rows; ++r) {
            a_offsets.push_back(r * step.terms);
            out_offsets.push_back(r * pitch);
          }
          kernels::GemmCall<T> call;
          call.a = a.data();
          call.a_offsets = a_offsets.data();
          call.b = b.data();
          call.out = out;
          call.out_offsets = out_offsets.data();
          call.steps = &step;
          call.step_count = 1;
          call.columns = columns;
          call.accumulate = false;
          call.stream = true;
          family.kernels[vectors][rows](call);
          for (int64_t r = 0; r < rows; ++r) {
            for (int64_t n = 0; n < pitch; ++n) {
              T want{9};
              if (n < columns) {
                want = T{0};
                for (int64_t i = 0; i < step.terms; ++i) {
                  want += a[static_cast<size_t>(r * step.terms + i)] *
                          b[static_cast<size_t>(i * width + n)];
                }
              }
              ASSERT_EQ(out[r * pitch + n], want)
                  << Name(isa) << " " << rows << " x " << vectors << ", columns " << columns;
            }
          }
        }
      }
    }
  }
}

TYPED_TEST(TilesTest, LanesAndScalars) {
  using T = TypeParam;
  for (const Isa isa : UsableIsas()) {
    const auto& family = kernels::Lanes<T>(isa);
    const int64_t lanes = family.lanes;
    std::vector<T> a(kA);
    for (int64_t i = 0; i < kA; ++i) a[static_cast<size_t>(i)] = Small<T>(3, i);
    for (int vectors = 1; vectors <= kernels::kGemmMaxVectors; ++vectors) {
      std::vector<T> b(static_cast<size_t>(kTerms * vectors * lanes));
      for (size_t i = 0; i < b.size(); ++i) b[i] = Small<T>(4, static_cast<int64_t>(i));
      for (int rows = 1; rows <= family.max_rows[vectors]; ++rows) {
        for (int64_t used = 1; used <= lanes; ++used) {
          for (const bool scalars : {false, true}) {
            if (scalars && used < lanes) continue;
            const int64_t out_vector = lanes + 3;
            const int64_t out_row = vectors * out_vector + 2;
            std::vector<int64_t> a_offsets, out_offsets;
            for (int r = 0; r < rows; ++r) {
              a_offsets.push_back(100 + 41 * r);
              out_offsets.push_back(r * out_row);
            }
            std::vector<T> out(static_cast<size_t>(rows * out_row), T{9});
            kernels::LanesCall<T> call;
            call.a = a.data();
            call.a_offsets = a_offsets.data();
            call.a_term = 29;
            call.b = b.data();
            call.out = out.data();
            call.out_offsets = out_offsets.data();
            call.out_vector = out_vector;
            call.steps = kSteps.data();
            call.step_count = static_cast<int64_t>(kSteps.size());
            call.used_lanes = used;
            call.accumulate = used % 2 == 0;
            (scalars ? family.scalars : family.kernels)[vectors][rows](call);
            for (int64_t i = 0; i < static_cast<int64_t>(out.size()); ++i) {
              const int64_t r = i / out_row;
              const int64_t v = i % out_row / out_vector;
              const int64_t lane = i % out_row % out_vector;
              T want{9};
              if (v < vectors && lane < used) {
                if (!call.accumulate) want = T{0};
                for (const GemmStep& step : kSteps) {
                  for (int64_t t = 0; t < step.terms; ++t) {
                    const int64_t column = (step.b_row + t) * vectors + v;
                    want += a[static_cast<size_t>(100 + 41 * r + step.a_offset + t * 29 + lane)] *
                            b[static_cast<size_t>(scalars ? column : column * lanes + lane)];
                  }
                }
              }
              ASSERT_EQ(out[static_cast<size_t>(i)], want)
                  << Name(isa) << " " << rows << " x " << vectors << ", lanes " << used;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace dgrad::testing
