#include "src/algorithms/phases.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/tensors.h"

namespace dgrad {
namespace {

using testing::Random;

Axis RandomAxis(uint64_t seed) {
  const auto pick = [&](uint64_t i, uint64_t n) {
    return static_cast<int64_t>(Random(seed, i) % n);
  };
  Axis axis;
  axis.out = 1 + pick(0, 9);
  axis.taps = 1 + pick(1, 8);
  axis.stride = 1 + pick(2, 5);
  axis.dilation = 1 + pick(3, 4);
  axis.pad_before = pick(4, 9);
  axis.in = 1 + pick(5, 30);
  return axis;
}

// Which (tap, out index) pairs meet index h, by the definition.
std::vector<std::pair<int64_t, int64_t>> Meets(const Axis& axis, int64_t h) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (int64_t k = 0; k < axis.taps; ++k) {
    for (int64_t o = 0; o < axis.out; ++o) {
      if (o * axis.stride + k * axis.dilation - axis.pad_before == h) pairs.emplace_back(k, o);
    }
  }
  return pairs;
}

TEST(PhasesTest, SegmentsMeetWhatTheDefinitionSays) {
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    const Axis axis = RandomAxis(seed);
    SCOPED_TRACE(seed);
    std::vector<Phase> phases;
    ASSERT_TRUE(SplitAxis(axis, &phases).ok());
    std::vector<std::vector<std::pair<int64_t, int64_t>>> found(static_cast<size_t>(axis.in));
    std::vector<int> visits(static_cast<size_t>(axis.in));
    for (const Phase& phase : phases) {
      for (int64_t j = 0; j < phase.length;) {
        const Segment segment = SegmentAt(phase, axis.out, j, phase.length);
        ASSERT_GT(segment.end, j);
        ASSERT_LE(segment.end, phase.length);
        for (; j < segment.end; ++j) {
          const auto h = static_cast<size_t>(phase.residue + j * axis.stride);
          ASSERT_LT(h, visits.size());
          ++visits[h];
          for (int64_t i = segment.first_tap; i < segment.last_tap; ++i) {
            found[h].emplace_back(phase.tap(i), j - phase.shift(i));
          }
        }
      }
    }
    bool covers = true;
    for (int64_t h = 0; h < axis.in; ++h) {
      const auto wanted = Meets(axis, h);
      covers = covers && !wanted.empty();
      ASSERT_EQ(found[static_cast<size_t>(h)], wanted) << "index " << h;
      ASSERT_LE(visits[static_cast<size_t>(h)], 1);
    }
    ASSERT_EQ(CoversAxis(axis, phases), covers);
  }
}

TEST(PhasesTest, ReadRangeHoldsAllThatIsRead) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    const Axis axis = RandomAxis(seed);
    for (int64_t begin = 0; begin < axis.in; ++begin) {
      for (int64_t end = begin + 1; end <= axis.in; end += 3) {
        const IndexRange range = ReadRange(axis, begin, end);
        ASSERT_LE(range.end - range.begin, MostRead(axis, end - begin));
        for (int64_t h = begin; h < end; ++h) {
          for (const auto& [k, o] : Meets(axis, h)) {
            ASSERT_GE(o, range.begin);
            ASSERT_LT(o, range.end);
          }
        }
      }
    }
  }
}

TEST(PhasesTest, WorkDoesNotGrowWithTheStride) {
  const Axis axis = {int64_t{1} << 40, 1, 3, int64_t{1} << 40, 1, 0, 0};
  std::vector<Phase> phases;
  ASSERT_TRUE(SplitAxis(axis, &phases).ok());
  EXPECT_EQ(phases.size(), 3u);
  EXPECT_FALSE(CoversAxis(axis, phases));
}

TEST(PhasesTest, TooManyPhasesAreRefused) {
  for (const int64_t many : {int64_t{1} << 21, int64_t{1} << 40}) {
    const Axis axis = {many, 1, many, many, 1, 0, 0};
    std::vector<Phase> phases;
    EXPECT_EQ(SplitAxis(axis, &phases).code(), Code::kOutOfMemory);
  }
}

}  // namespace
}  // namespace dgrad
