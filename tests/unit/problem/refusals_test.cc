// Every refusal of MakeProblem: its code, its words and its place in the order of checks.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "src/problem/arguments.h"
#include "tests/unit/problem/call.h"

namespace dgrad {
namespace {

// Everything that must be refused: the change to the legal call, the code, what the message says.
struct Refusal {
  const char* name;
  std::function<void(Call&)> change;
  Code code;
  std::vector<std::string> words;
};

// In the order of the checks.
std::vector<Refusal> Refusals() {
  constexpr Code kInvalid = Code::kInvalidArgument;
  return {
      {"padding", [](Call& c) { c.padding = static_cast<Padding>(3); }, kInvalid, {"padding", "3"}},
      {"padding below",
       [](Call& c) { c.padding = static_cast<Padding>(-1); },
       kInvalid,
       {"padding", "-1"}},
      {"layout",
       [](Call& c) { c.layout = static_cast<Layout>(2); },
       kInvalid,
       {"data_format", "2"}},
      {"layout below",
       [](Call& c) { c.layout = static_cast<Layout>(-7); },
       kInvalid,
       {"data_format", "-7"}},
      {"dtype", [](Call& c) { c.dtype = static_cast<DType>(6); }, kInvalid, {"dtype", "6"}},
      {"dtype 0", [](Call& c) { c.dtype = static_cast<DType>(0); }, kInvalid, {"dtype", "0"}},
      {"no strides", [](Call& c) { c.strides = {}; }, kInvalid, {"strides", "4 elements", "got 0"}},
      {"2 strides",
       [](Call& c) {
         c.strides = {1, 2};
       },
       kInvalid,
       {"strides", "got 2", "[1, 2]"}},
      {"5 strides",
       [](Call& c) {
         c.strides = {1, 1, 1, 1, 1};
       },
       kInvalid,
       {"strides", "got 5"}},
      {"batch stride",
       [](Call& c) {
         c.strides = {0, 1, 1, 1};
       },
       Code::kUnimplemented,
       {"strides", "batch", "[0, 1, 1, 1]"}},
      {"channel stride",
       [](Call& c) {
         c.strides = {1, 1, 1, 2};
       },
       Code::kUnimplemented,
       {"strides", "channels", "[1, 1, 1, 2]"}},
      {"NCHW with strides in NHWC order",
       [](Call& c) {
         c.layout = Layout::kNchw;
         c.strides = {1, 2, 2, 1};
       },
       Code::kUnimplemented,
       {"strides", "[1, 2, 2, 1]", "NCHW"}},
      {"row stride 0",
       [](Call& c) {
         c.strides = {1, 0, 1, 1};
       },
       kInvalid,
       {"strides", "at least 1", "[1, 0, 1, 1]"}},
      {"column stride -2",
       [](Call& c) {
         c.strides = {1, 1, -2, 1};
       },
       kInvalid,
       {"strides", "[1, 1, -2, 1]"}},
      {"no dilations", [](Call& c) { c.dilations = List{}; }, kInvalid, {"dilations", "got 0"}},
      {"5 dilations",
       [](Call& c) {
         c.dilations = {1, 1, 1, 1, 0};
       },
       kInvalid,
       {"dilations", "got 5"}},
      {"batch dilation",
       [](Call& c) {
         c.dilations = {2, 1, 1, 1};
       },
       Code::kUnimplemented,
       {"dilations", "[2, 1, 1, 1]"}},
      {"channel dilation",
       [](Call& c) {
         c.dilations = {1, 1, 1, 0};
       },
       Code::kUnimplemented,
       {"dilations", "[1, 1, 1, 0]"}},
      {"row dilation 0",
       [](Call& c) {
         c.dilations = {1, 0, 1, 1};
       },
       kInvalid,
       {"dilations", "at least 1", "[1, 0, 1, 1]"}},
      {"column dilation -1",
       [](Call& c) {
         c.dilations = {1, 1, -1, 1};
       },
       kInvalid,
       {"dilations", "[1, 1, -1, 1]"}},
      {"pads without EXPLICIT",
       [](Call& c) { c.explicit_paddings = List(8, 0); },
       kInvalid,
       {"explicit_paddings", "EXPLICIT", "[0, 0, "}},
      {"no pads",
       [](Call& c) { c.padding = Padding::kExplicit; },
       kInvalid,
       {"explicit_paddings", "8 elements", "got 0"}},
      {"6 pads",
       [](Call& c) {
         c.padding = Padding::kExplicit;
         c.explicit_paddings = {0, 0, 1, 1, 1, 1};
       },
       kInvalid,
       {"explicit_paddings", "got 6"}},
      {"negative batch pad",
       [](Call& c) {
         c.padding = Padding::kExplicit;
         c.explicit_paddings = {-3, 0, 1, 1, 1, 1, 0, 0};
       },
       kInvalid,
       {"explicit_paddings", "at least 0", "got -3"}},
      {"batch pad",
       [](Call& c) {
         c.padding = Padding::kExplicit;
         c.explicit_paddings = {0, 1, 0, 0, 0, 0, 0, 0};
       },
       kInvalid,
       {"explicit_paddings", "batch", "[0, 1, "}},
      {"channel pad",
       [](Call& c) {
         c.padding = Padding::kExplicit;
         c.explicit_paddings = {0, 0, 0, 0, 0, 0, 1, 0};
       },
       kInvalid,
       {"explicit_paddings", "channels", "1, 0]"}},
      {"pads of NHWC in NCHW",
       [](Call& c) {
         c.layout = Layout::kNchw;
         c.padding = Padding::kExplicit;
         c.explicit_paddings = {0, 0, 1, 1, 1, 1, 0, 0};
       },
       kInvalid,
       {"explicit_paddings", "NCHW"}},
      {"out rank 0",
       [](Call& c) { c.out_backprop_shape = List{}; },
       kInvalid,
       {"out_backprop_shape", "4 dimensions", "got 0"}},
      {"out rank 5",
       [](Call& c) {
         c.out_backprop_shape = {1, 1, 2, 4, 3};
       },
       kInvalid,
       {"out_backprop_shape", "got 5", "[1, 1, 2, 4, 3]"}},
      {"out negative",
       [](Call& c) {
         c.out_backprop_shape = {1, -2, 4, 3};
       },
       kInvalid,
       {"out_backprop_shape", "[1, -2, 4, 3]"}},
      {"no sizes",
       [](Call& c) { c.input_sizes = {}; },
       kInvalid,
       {"input_sizes", "4 elements", "got 0"}},
      {"3 sizes",
       [](Call& c) {
         c.input_sizes = {8, 8, 3};
       },
       kInvalid,
       {"input_sizes", "got 3", "[8, 8, 3]"}},
      {"2 sizes without out",
       [](Call& c) {
         c.input_sizes = {4, 5};
         c.out_backprop_shape.reset();
       },
       kInvalid,
       {"input_sizes", "out_backprop_shape", "[4, 5]"}},
      {"-1 as batch",
       [](Call& c) {
         c.input_sizes = {-1, 4, 5, 2};
       },
       kInvalid,
       {"input_sizes", "[-1, 4, 5, 2]"}},
      {"negative height with batch 0",
       [](Call& c) {
         c.input_sizes = {0, -1, 5, 2};
       },
       kInvalid,
       {"input_sizes", "[0, -1, 5, 2]"}},
      {"2 negative sizes",
       [](Call& c) {
         c.input_sizes = {-4, 5};
       },
       kInvalid,
       {"input_sizes", "[-4, 5]"}},
      {"sizes over 2^63",
       [](Call& c) {
         c.input_sizes = {1, kInt32Max, kInt32Max, kInt32Max};
       },
       kInvalid,
       {"input_sizes", "2147483647", "2^63"}},
      {"sizes over 2^63 and batch 0",
       [](Call& c) {
         c.input_sizes = {0, kMax, kMax, 2};
       },
       kInvalid,
       {"input_sizes", "9223372036854775807", "2^63"}},
      {"bytes over 2^63",
       [](Call& c) {
         c.input_sizes = {1, int64_t{1} << 31, int64_t{1} << 30, 1};
       },
       kInvalid,
       {"input_sizes", "4 bytes", "2^63"}},
      {"filter rank 3",
       [](Call& c) {
         c.filter_shape = {3, 2, 3};
       },
       kInvalid,
       {"filter_shape", "4 dimensions", "[3, 2, 3]"}},
      {"filter rank 2 and 2 sizes",
       [](Call& c) {
         c.filter_shape = {3, 2};
         c.input_sizes = {4, 5};
       },
       kInvalid,
       {"filter_shape", "got 2", "[3, 2]"}},
      {"filter negative",
       [](Call& c) {
         c.filter_shape = {3, 2, 2, -3};
       },
       kInvalid,
       {"filter_shape", "[3, 2, 2, -3]"}},
      {"2 sizes over 2^63",
       [](Call& c) {
         c.input_sizes = {kMax / 2, 5};
       },
       kInvalid,
       {"input_sizes", "4611686018427387903", "2^63"}},
      {"filter over 2^63",
       [](Call& c) {
         c.filter_shape = {4, 4, int64_t{1} << 28, int64_t{1} << 30};
       },
       kInvalid,
       {"filter_shape", "1073741824", "2^63"}},
      {"out over 2^63",
       [](Call& c) {
         c.out_backprop_shape = {1, kInt32Max, kInt32Max, 3};
       },
       kInvalid,
       {"out_backprop_shape", "2147483647", "2^63"}},
      {"batch",
       [](Call& c) { (*c.out_backprop_shape)[0] = 8; },
       kInvalid,
       {"input_sizes", "out_backprop_shape", "batch", "1 and 8"}},
      {"filter depth 0",
       [](Call& c) { c.filter_shape[2] = 0; },
       kInvalid,
       {"filter_shape[2]", "at least 1", "[3, 2, 0, 3]"}},
      {"channels 0",
       [](Call& c) { c.input_sizes[3] = 0; },
       kInvalid,
       {"input_sizes", "filter_shape[2] = 2", "got 0"}},
      {"channels 3 of 2",
       [](Call& c) { c.input_sizes[3] = 3; },
       kInvalid,
       {"input_sizes", "filter_shape[2] = 2", "got 3"}},
      {"channels 1 of 2",
       [](Call& c) { c.input_sizes[3] = 1; },
       kInvalid,
       {"input_sizes", "filter_shape[2] = 2", "got 1"}},
      {"out channels",
       [](Call& c) { (*c.out_backprop_shape)[3] = 5; },
       kInvalid,
       {"out_backprop_shape", "filter_shape[3] = 3", "got 5"}},
      {"no out channels in out only",
       [](Call& c) { (*c.out_backprop_shape)[3] = 0; },
       kInvalid,
       {"out_backprop_shape", "filter_shape[3] = 3", "got 0"}},
      {"rows negative",
       [](Call& c) { c.input_sizes[1] = 1; },
       kInvalid,
       {"height", "input_sizes", "input size 1", "filter size 3", "give -1"}},
      {"height 0, VALID",
       [](Call& c) { c.input_sizes[1] = 0; },
       kInvalid,
       {"height", "input_sizes", "input size 0", "give -2"}},
      {"dilation 2^31 - 1",
       [](Call& c) {
         c.dilations = {1, kInt32Max, 1, 1};
       },
       kInvalid,
       {"height", "dilation 2147483647", "give -4294967290"}},
      {"rows",
       [](Call& c) { (*c.out_backprop_shape)[1] = 9; },
       kInvalid,
       {"height", "out_backprop_shape", "must be 2", "got 9"}},
      {"rows with batch 0",
       [](Call& c) {
         c.input_sizes[0] = 0;
         c.out_backprop_shape = {0, 9, 4, 3};
       },
       kInvalid,
       {"height", "out_backprop_shape", "must be 2", "got 9"}},
      {"no rows given",
       [](Call& c) { (*c.out_backprop_shape)[1] = 0; },
       kInvalid,
       {"height", "out_backprop_shape", "must be 2", "got 0"}},
      {"SAME with rows of VALID",
       [](Call& c) {
         c.padding = Padding::kSame;
         (*c.out_backprop_shape)[2] = 5;
       },
       kInvalid,
       {"height", "out_backprop_shape", "must be 4", "got 2"}},
      {"pad 2^31",
       [](Call& c) {
         c.padding = Padding::kExplicit;
         c.explicit_paddings = {0, 0, int64_t{1} << 31, 0, 0, 0, 0, 0};
       },
       kInvalid,
       {"height", "out_backprop_shape", "must be 2147483650", "got 2"}},
      {"pads that wrap",
       [](Call& c) {
         c.padding = Padding::kExplicit;
         c.explicit_paddings = {0, 0, kMax, kMax, 0, 0, 0, 0};
         c.out_backprop_shape = {1, 0, 4, 3};
       },
       kInvalid,
       {"height", "out_backprop_shape", "explicit_paddings", "9223372036854775807"}},
      {"columns negative",
       [](Call& c) { c.filter_shape[1] = 7; },
       kInvalid,
       {"width", "input_sizes", "input size 5", "filter size 7", "give -1"}},
      {"columns",
       [](Call& c) { (*c.out_backprop_shape)[2] = 5; },
       kInvalid,
       {"width", "out_backprop_shape", "must be 4", "got 5"}},
      {"3 out channels in 2 groups",
       [](Call& c) { c.input_sizes[3] = 4; },
       kInvalid,
       {"filter_shape[3]", "groups 2", "got 3"}},
      {"2 out channels in 4 groups",
       [](Call& c) {
         c.input_sizes[3] = 8;
         c.filter_shape[3] = (*c.out_backprop_shape)[3] = 2;
       },
       kInvalid,
       {"filter_shape[3]", "groups 4", "got 2"}},
      {"computed out over 2^63",
       [](Call& c) {
         c.input_sizes = {1, 1, 1, 1};
         c.filter_shape = {1, 1, 1, 1};
         c.padding = Padding::kExplicit;
         c.explicit_paddings = {0, 0, kMax / 2, 0, kMax / 2, 0, 0, 0};
         c.out_backprop_shape.reset();
       },
       kInvalid,
       {"out_backprop_shape", "4611686018427387904", "2^63"}},
  };
}

TEST(ArgumentsTest, RefusesWithTheArgumentAndTheNumbers) {
  for (const Refusal& refusal : Refusals()) {
    SCOPED_TRACE(refusal.name);
    Call call;
    refusal.change(call);
    Problem problem;
    problem.batch = 77;
    const Problem before = problem;
    const Status status = call.Make(&problem);
    EXPECT_EQ(status.code(), refusal.code) << status.message();
    for (const std::string& word : refusal.words) {
      EXPECT_NE(status.message().find(word), std::string::npos)
          << "no '" << word << "' in: " << status.message();
    }
    EXPECT_EQ(problem, before);
  }
}

// Doubly wrong calls: of two faults the earlier check speaks.
TEST(ArgumentsTest, ChecksInOrder) {
  struct Fault {
    const char* word;  // tells its message from those of the later ones
    std::function<void(Call&)> change;
  };
  const Fault faults[] = {
      {"strides must have 4",
       [](Call& c) {
         c.strides = {1, 1, 1};
       }},
      {"dilations must have 4", [](Call& c) { c.dilations = List{1}; }},
      {"explicit_paddings", [](Call& c) { c.explicit_paddings = {1}; }},
      {"out_backprop_shape must have 4", [](Call& c) { c.out_backprop_shape->push_back(1); }},
      {"input_sizes must have 4", [](Call& c) { c.input_sizes.push_back(1); }},
      {"filter_shape must have 4", [](Call& c) { c.filter_shape.push_back(1); }},
      {"same batch", [](Call& c) { (*c.out_backprop_shape)[0] = 2; }},
      {"filter_shape[2], the in channels", [](Call& c) { c.filter_shape[2] = 0; }},
      {"positive multiple", [](Call& c) { c.input_sizes[3] = 7; }},
      {"filter_shape[3] = ", [](Call& c) { (*c.out_backprop_shape)[3] = 4; }},
      {"height of input_sizes is too small", [](Call& c) { c.input_sizes[1] = 0; }},
      {"height of out_backprop_shape must", [](Call& c) { (*c.out_backprop_shape)[1] = 77; }},
      {"width of input_sizes is too small", [](Call& c) { c.input_sizes[2] = 0; }},
      {"width of out_backprop_shape must", [](Call& c) { (*c.out_backprop_shape)[2] = 77; }},
  };
  const size_t count = std::size(faults);
  for (size_t first = 0; first < count; ++first) {
    for (size_t second = first + 1; second < count; ++second) {
      Call call;
      faults[second].change(call);
      faults[first].change(call);
      Problem problem;
      const Status status = call.Make(&problem);
      EXPECT_NE(status.message().find(faults[first].word), std::string::npos)
          << "faults '" << faults[first].word << "' and '" << faults[second].word
          << "' give: " << status.message();
    }
  }
  // Groups come last.
  Call call;
  call.input_sizes[3] = 4;
  (*call.out_backprop_shape)[2] = 77;
  Problem problem;
  EXPECT_NE(call.Make(&problem).message().find("width"), std::string::npos);
}

// Within strides, dilations and pads.
TEST(ArgumentsTest, ChecksTheElementsOfAListInOrder) {
  Call call;
  call.strides = {2, 0, 1, 1};
  Problem problem;
  EXPECT_EQ(call.Make(&problem).code(), Code::kUnimplemented);
  call = Call();
  call.dilations = {1, -1, 1, 3};
  EXPECT_EQ(call.Make(&problem).code(), Code::kUnimplemented);
  call = Call();
  call.padding = Padding::kExplicit;
  call.explicit_paddings = {1, 0, 0, 0, 0, -1, 0, 0};
  EXPECT_NE(call.Make(&problem).message().find("got -1"), std::string::npos);
}

}  // namespace
}  // namespace dgrad
