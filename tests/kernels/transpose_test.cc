#include "src/kernels/transpose/transpose.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/check.h"

namespace dgrad::testing {
namespace {

template <typename T>
void CheckTranspose() {
  for (const Isa isa : UsableIsas()) {
    for (const int64_t rows : {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 21, 33}) {
      for (const int64_t columns : {0, 1, 3, 4, 6, 8, 9, 15, 16, 17, 32, 35}) {
        const int64_t from_pitch = columns + 3;
        const int64_t to_pitch = rows + 2;
        std::vector<T> from(static_cast<size_t>(rows * from_pitch));
        for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<T>(i + 1);
        std::vector<T> to(static_cast<size_t>(columns * to_pitch), static_cast<T>(-1));
        kernels::Transpose<T>(isa)(from.data(), from_pitch, to.data(), to_pitch, rows, columns);
        for (int64_t c = 0; c < columns; ++c) {
          for (int64_t r = 0; r < to_pitch; ++r) {
            const T want =
                r < rows ? from[static_cast<size_t>(r * from_pitch + c)] : static_cast<T>(-1);
            ASSERT_EQ(to[static_cast<size_t>(c * to_pitch + r)], want)
                << Name(isa) << " " << rows << " x " << columns;
          }
        }
      }
    }
  }
}

// Lines past the caches: results that begin anywhere on a line, pitches of whole lines.
template <typename T>
void CheckStreaming() {
  constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T));
  for (const Isa isa : UsableIsas()) {
    for (const int64_t rows : {1, 7, 16, 17, 32, 45}) {
      for (const int64_t columns : {1, 4, 16, 19, 32}) {
        for (const int64_t shift : {int64_t{0}, int64_t{1}, kLine / 2}) {
          const int64_t from_pitch = columns + 3;
          const int64_t to_pitch = (rows + 3 * kLine) / kLine * kLine;
          std::vector<T> from(static_cast<size_t>(rows * from_pitch));
          for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<T>(i + 1);
          std::vector<T> memory(static_cast<size_t>((columns + 1) * to_pitch), static_cast<T>(-1));
          T* to = memory.data();
          while (reinterpret_cast<uintptr_t>(to) % 64 != 0) ++to;
          to += shift;
          kernels::StreamingTranspose<T>(isa)(from.data(), from_pitch, to, to_pitch, rows, columns);
          for (int64_t c = 0; c < columns; ++c) {
            for (int64_t r = -shift; r < to_pitch - shift; ++r) {
              const bool moved = r >= 0 && r < rows;
              const T want =
                  moved ? from[static_cast<size_t>(r * from_pitch + c)] : static_cast<T>(-1);
              ASSERT_EQ(to[c * to_pitch + r], want)
                  << Name(isa) << " " << rows << " x " << columns << " from " << shift;
            }
          }
        }
      }
    }
  }
}

TEST(TransposeTest, StreamsFloat) { CheckStreaming<float>(); }
TEST(TransposeTest, StreamsDouble) { CheckStreaming<double>(); }
TEST(TransposeTest, StreamsInt32) { CheckStreaming<int32_t>(); }

TEST(TransposeTest, Float) { CheckTranspose<float>(); }
TEST(TransposeTest, Double) { CheckTranspose<double>(); }
TEST(TransposeTest, Int32) { CheckTranspose<int32_t>(); }

}  // namespace
}  // namespace dgrad::testing
