#include "src/problem/arguments.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>

#include "tests/unit/problem/call.h"

namespace dgrad {
namespace {

Problem MakeOrFail(const Call& call) {
  Problem problem;
  const Status status = call.Make(&problem);
  EXPECT_TRUE(status.ok()) << status.message();
  return problem;
}

TEST(ArgumentsTest, FillsEveryField) {
  Call call;
  call.input_sizes = {2, 9, 8, 6};
  call.filter_shape = {3, 2, 3, 4};
  call.strides = {1, 2, 3, 1};
  call.dilations = {1, 2, 1, 1};
  call.padding = Padding::kExplicit;
  call.explicit_paddings = {0, 0, 1, 2, 3, 4, 0, 0};
  call.out_backprop_shape = {2, 4, 5, 4};
  call.dtype = DType::kBF16;
  const Problem expected = {.batch = 2,
                            .rows = {.in = 9,
                                     .out = 4,
                                     .taps = 3,
                                     .stride = 2,
                                     .dilation = 2,
                                     .pad_before = 1,
                                     .pad_after = 2},
                            .columns = {.in = 8,
                                        .out = 5,
                                        .taps = 2,
                                        .stride = 3,
                                        .dilation = 1,
                                        .pad_before = 3,
                                        .pad_after = 4},
                            .in_channels = 6,
                            .out_channels = 4,
                            .groups = 2,
                            .layout = Layout::kNhwc,
                            .dtype = DType::kBF16};
  EXPECT_EQ(MakeOrFail(call), expected);

  // The same in NCHW order.
  call.layout = Layout::kNchw;
  call.input_sizes = {2, 6, 9, 8};
  call.strides = {1, 1, 2, 3};
  call.dilations = {1, 1, 2, 1};
  call.explicit_paddings = {0, 0, 0, 0, 1, 2, 3, 4};
  call.out_backprop_shape = {2, 4, 4, 5};
  Problem nchw = expected;
  nchw.layout = Layout::kNchw;
  EXPECT_EQ(MakeOrFail(call), nchw);

  // out_backprop_shape may be left out.
  call.out_backprop_shape.reset();
  EXPECT_EQ(MakeOrFail(call), nchw);
}

TEST(ArgumentsTest, TwoInputSizesTakeTheRestFromTheTensors) {
  Call call;
  const Problem expected = MakeOrFail(call);
  call.input_sizes = {4, 5};
  EXPECT_EQ(MakeOrFail(call), expected);

  call.layout = Layout::kNchw;
  call.out_backprop_shape = {7, 3, 2, 4};
  const Problem nchw = MakeOrFail(call);
  EXPECT_EQ(nchw.batch, 7);
  EXPECT_EQ(nchw.in_channels, 2);
  EXPECT_EQ(nchw.rows.in, 4);
  EXPECT_EQ(nchw.columns.in, 5);
}

TEST(ArgumentsTest, SameStoresItsPads) {
  Call call;
  call.padding = Padding::kSame;
  call.filter_shape = {4, 3, 2, 3};
  call.strides = {1, 1, 2, 1};
  call.out_backprop_shape = {1, 4, 3, 3};
  const Problem problem = MakeOrFail(call);
  EXPECT_EQ(problem.rows.pad_before, 1);  // a total of 3: the odd one after
  EXPECT_EQ(problem.rows.pad_after, 2);
  EXPECT_EQ(problem.columns.pad_before, 1);
  EXPECT_EQ(problem.columns.pad_after, 1);
}

struct Accepted {
  const char* name;
  std::function<void(Call&)> change;
};

TEST(ArgumentsTest, AcceptsTheUnusual) {
  const Accepted cases[] = {
      {"batch 0", [](Call& c) { c.input_sizes[0] = 0, (*c.out_backprop_shape)[0] = 0; }},
      {"height 0, SAME",
       [](Call& c) {
         c.padding = Padding::kSame;
         c.input_sizes = {1, 0, 5, 2};
         c.out_backprop_shape = {1, 0, 5, 3};
       }},
      {"no out rows", [](Call& c) { c.input_sizes[1] = 2, (*c.out_backprop_shape)[1] = 0; }},
      {"no out rows by truncation",
       [](Call& c) {
         c.input_sizes[1] = 1;
         c.strides[1] = 4;
         (*c.out_backprop_shape)[1] = 0;
       }},
      {"no out channels", [](Call& c) { c.filter_shape[3] = 0, (*c.out_backprop_shape)[3] = 0; }},
      {"no out channels, 2 groups",
       [](Call& c) {
         c.input_sizes[3] = 4;
         c.filter_shape[3] = 0, (*c.out_backprop_shape)[3] = 0;
       }},
      {"no filter rows", [](Call& c) { c.filter_shape[0] = 0, (*c.out_backprop_shape)[1] = 5; }},
      {"no filter rows or columns, explicit",
       [](Call& c) {
         c.filter_shape = {0, 0, 2, 3};
         c.padding = Padding::kExplicit;
         c.explicit_paddings = {0, 0, 1, 1, 1, 1, 0, 0};
         c.out_backprop_shape = {1, 7, 8, 3};
       }},
      {"depthwise with multiplier 2",
       [](Call& c) {
         c.filter_shape = {3, 2, 1, 4}, (*c.out_backprop_shape)[3] = 4;
       }},
      {"strides 2^31 - 1, SAME",
       [](Call& c) {
         c.padding = Padding::kSame;
         c.strides = {1, kInt32Max, kInt32Max, 1};
         c.out_backprop_shape = {1, 1, 1, 3};
       }},
      {"pads and stride 2^31 - 1",
       [](Call& c) {
         c.input_sizes = {1, 1, 1, 1};
         c.filter_shape = {1, 1, 1, 1};
         c.strides = {1, kInt32Max, 1, 1};
         c.padding = Padding::kExplicit;
         c.explicit_paddings = {0, 0, kInt32Max, kInt32Max, 0, 0, 0, 0};
         c.out_backprop_shape = {1, 3, 1, 1};
       }},
      {"pads past the filter",
       [](Call& c) {
         c.padding = Padding::kExplicit;
         c.explicit_paddings = {0, 0, 9, 8, 0, 7, 0, 0};
         c.out_backprop_shape = {1, 19, 11, 3};
       }},
      {"the largest tensor",
       [](Call& c) {
         c.input_sizes = {1, int64_t{1} << 30, (int64_t{1} << 31) - 1, 1};
         c.strides = {1, int64_t{1} << 30, int64_t{1} << 31, 1};
         c.filter_shape = {1, 1, 1, 1};
         c.out_backprop_shape = {1, 1, 1, 1};
       }},
  };
  for (const Accepted& accepted : cases) {
    SCOPED_TRACE(accepted.name);
    Call call;
    accepted.change(call);
    MakeOrFail(call);
  }
}

}  // namespace
}  // namespace dgrad
