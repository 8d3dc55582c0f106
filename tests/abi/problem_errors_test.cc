// What dgrad_problem_create, _from_string and _to_string refuse.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <thread>

#include "tests/abi/support.h"

namespace dgrad_test {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

// The status of creating the problem; a handle made by mistake is destroyed.
dgrad_status Create(const dgrad_arguments& arguments) {
  dgrad_problem* const untouched = reinterpret_cast<dgrad_problem*>(&dgrad_problem_create);
  dgrad_problem* problem = untouched;
  const dgrad_status status = dgrad_problem_create(&arguments, &problem);
  if (status == DGRAD_OK) {
    EXPECT_NE(problem, untouched);
    dgrad_problem_destroy(problem);
  } else {
    EXPECT_EQ(problem, untouched) << "an output was written on failure";
  }
  return status;
}

TEST(ProblemErrors, TheBaseCallIsLegal) {
  BaseArguments base;
  EXPECT_STATUS(Create(base.c), DGRAD_OK);
}

TEST(ProblemErrors, NullPointers) {
  BaseArguments base;
  dgrad_problem* problem = nullptr;
  EXPECT_INVALID(dgrad_problem_create(nullptr, &problem), "arguments", "null");
  EXPECT_INVALID(dgrad_problem_create(&base.c, nullptr), "problem", "null");
  EXPECT_INVALID(dgrad_problem_from_string(nullptr, &problem), "text", "null");
  EXPECT_INVALID(dgrad_problem_from_string("h3w3c1_k2x2_oc1", nullptr), "problem", "null");
  EXPECT_EQ(problem, nullptr);
}

// One list of the arguments, by its members.
struct List {
  const char* name;
  const std::int64_t* dgrad_arguments::*data;
  std::uint64_t dgrad_arguments::*count;
};
constexpr List kLists[] = {
    {"input_sizes", &dgrad_arguments::input_sizes, &dgrad_arguments::input_sizes_count},
    {"filter_shape", &dgrad_arguments::filter_shape, &dgrad_arguments::filter_rank},
    {"out_backprop_shape", &dgrad_arguments::out_backprop_shape,
     &dgrad_arguments::out_backprop_rank},
    {"strides", &dgrad_arguments::strides, &dgrad_arguments::strides_count},
    {"dilations", &dgrad_arguments::dilations, &dgrad_arguments::dilations_count},
};

TEST(ProblemErrors, NullListsWithACount) {
  for (const List& list : kLists) {
    BaseArguments base;
    base.c.*list.data = nullptr;
    EXPECT_INVALID(Create(base.c), list.name, "null", "4");
  }
  BaseArguments base;
  base.c.padding = DGRAD_EXPLICIT;
  base.c.explicit_paddings_count = 8;
  EXPECT_INVALID(Create(base.c), "explicit_paddings", "null", "8");
}

TEST(ProblemErrors, WrongCounts) {
  for (const List& list : kLists) {
    for (const std::uint64_t count : {0, 1, 3}) {
      BaseArguments base;
      base.c.*list.count = count;
      EXPECT_INVALID(Create(base.c), list.name);
    }
    // The elements behind such a count must not be read.
    for (const std::uint64_t count : {std::uint64_t{1} << 20, std::uint64_t{1} << 60,
                                      std::uint64_t{1} << 61, ~std::uint64_t{0}}) {
      BaseArguments base;
      base.c.*list.count = count;
      EXPECT_INVALID(Create(base.c), std::to_string(count));
    }
    BaseArguments base;
    const std::int64_t five[5] = {1, 1, 1, 1, 1};
    base.c.*list.data = five;
    base.c.*list.count = 5;
    EXPECT_INVALID(Create(base.c), list.name, "5");
  }
  for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{7}, ~std::uint64_t{0}}) {
    BaseArguments base;
    base.c.padding = DGRAD_EXPLICIT;
    base.c.explicit_paddings = base.explicit_paddings;
    base.c.explicit_paddings_count = count;
    EXPECT_INVALID(Create(base.c), "explicit_paddings");
  }
  BaseArguments unwanted;
  unwanted.c.explicit_paddings = unwanted.explicit_paddings;
  unwanted.c.explicit_paddings_count = 8;
  EXPECT_INVALID(Create(unwanted.c), "explicit_paddings");
}

TEST(ProblemErrors, MisalignedLists) {
  for (const List& list : kLists) {
    BaseArguments base;
    alignas(8) char bytes[5 * 8] = {};
    std::memcpy(bytes + 1, base.c.*list.data, 32);
    base.c.*list.data = reinterpret_cast<const std::int64_t*>(bytes + 1);
    EXPECT_INVALID(Create(base.c), list.name, "aligned");
  }
}

TEST(ProblemErrors, AbsentListsMayBeNull) {
  BaseArguments base;
  base.c.out_backprop_shape = nullptr;
  base.c.out_backprop_rank = 0;
  base.c.dilations = nullptr;
  base.c.dilations_count = 0;
  EXPECT_STATUS(Create(base.c), DGRAD_OK);
  base.c.input_sizes_count = 2;  // [height, width] needs out_backprop's batch
  EXPECT_INVALID(Create(base.c), "input_sizes", "out_backprop");
}

TEST(ProblemErrors, UnknownWords) {
  for (const std::int32_t value : {-1, 3, std::numeric_limits<std::int32_t>::min()}) {
    BaseArguments base;
    base.c.padding = value;
    EXPECT_INVALID(Create(base.c), "padding", std::to_string(value));
  }
  for (const std::int32_t value : {-1, 2, std::numeric_limits<std::int32_t>::max()}) {
    BaseArguments base;
    base.c.data_format = value;
    EXPECT_INVALID(Create(base.c), "data_format", std::to_string(value));
  }
  for (const std::int32_t value : {-1, 0, 6}) {
    BaseArguments base;
    base.c.dtype = value;
    EXPECT_INVALID(Create(base.c), "dtype", std::to_string(value));
  }
  BaseArguments base;
  base.c.reserved = 1;
  EXPECT_INVALID(Create(base.c), "reserved");
}

TEST(ProblemErrors, IllegalValues) {
  struct Case {
    std::int64_t* element;
    std::int64_t value;
    dgrad_status status;
    const char* word;
  };
  BaseArguments base;
  const Case cases[] = {
      {&base.input_sizes[1], -1, DGRAD_INVALID_ARGUMENT, "input_sizes"},
      {&base.input_sizes[0], 2, DGRAD_INVALID_ARGUMENT, "batch"},
      {&base.input_sizes[1], kMax, DGRAD_INVALID_ARGUMENT, "input_sizes"},
      {&base.input_sizes[3], 3, DGRAD_INVALID_ARGUMENT, "input_sizes"},
      {&base.filter_shape[0], -3, DGRAD_INVALID_ARGUMENT, "filter_shape"},
      {&base.filter_shape[0], 4, DGRAD_INVALID_ARGUMENT, "out_backprop_shape"},
      {&base.filter_shape[2], 0, DGRAD_INVALID_ARGUMENT, "filter_shape"},
      {&base.filter_shape[3], 4, DGRAD_INVALID_ARGUMENT, "out_backprop_shape"},
      {&base.filter_shape[1], kMax, DGRAD_INVALID_ARGUMENT, "filter_shape"},
      {&base.out_backprop_shape[2], 5, DGRAD_INVALID_ARGUMENT, "out_backprop_shape"},
      {&base.out_backprop_shape[2], -1, DGRAD_INVALID_ARGUMENT, "out_backprop_shape"},
      {&base.strides[1], 0, DGRAD_INVALID_ARGUMENT, "strides"},
      {&base.strides[2], -2, DGRAD_INVALID_ARGUMENT, "strides"},
      {&base.strides[0], 2, DGRAD_UNIMPLEMENTED, "strides"},
      {&base.strides[3], 2, DGRAD_UNIMPLEMENTED, "strides"},
      {&base.dilations[1], 0, DGRAD_INVALID_ARGUMENT, "dilations"},
      {&base.dilations[2], kMax, DGRAD_INVALID_ARGUMENT, "width"},
      {&base.dilations[3], 2, DGRAD_UNIMPLEMENTED, "dilations"},
  };
  for (const Case& test : cases) {
    const std::int64_t before = *test.element;
    *test.element = test.value;
    EXPECT_STATUS(Create(base.c), test.status, test.word);
    *test.element = before;
  }
  EXPECT_STATUS(Create(base.c), DGRAD_OK);

  base.c.padding = DGRAD_EXPLICIT;
  base.c.explicit_paddings = base.explicit_paddings;
  base.c.explicit_paddings_count = 8;
  EXPECT_STATUS(Create(base.c), DGRAD_OK);
  for (const int index : {0, 7}) {
    base.explicit_paddings[index] = 1;
    EXPECT_INVALID(Create(base.c), "explicit_paddings");
    base.explicit_paddings[index] = 0;
  }
  base.explicit_paddings[2] = -1;
  EXPECT_INVALID(Create(base.c), "explicit_paddings", "-1");
  base.explicit_paddings[2] = kMax;
  base.explicit_paddings[3] = kMax;
  EXPECT_STATUS(Create(base.c), DGRAD_INVALID_ARGUMENT);
}

TEST(ProblemErrors, BadProblemStrings) {
  dgrad_problem* problem = nullptr;
  const std::string long_text(100'000, 'x');
  const std::string not_ascii = "h3w3c1_k2x2_oc1_\xC3\xA9\xFF";
  for (const std::string& text :
       {std::string(), std::string("h3"), std::string("h3w3c1_k2x2_oc1_"),
        std::string("h3w3c1_k2x2_oc1_f33"), std::string("h99999999999999999999w3c1_k2x2_oc1"),
        long_text, not_ascii}) {
    EXPECT_INVALID(dgrad_problem_from_string(text.c_str(), &problem), "problem string");
    EXPECT_LT(std::strlen(dgrad_last_error()), 1024u);
    EXPECT_EQ(problem, nullptr);
  }
}

TEST(ProblemErrors, TextBuffers) {
  dgrad_problem* problem = nullptr;
  ASSERT_EQ(dgrad_problem_from_string("h3w3c1_k2x2_oc1", &problem), DGRAD_OK);
  char buffer[32];
  std::memset(buffer, 'x', sizeof(buffer));
  std::uint64_t size = 0;
  EXPECT_STATUS(dgrad_problem_to_string(problem, nullptr, 0, &size), DGRAD_OK);
  ASSERT_EQ(size, 16u);
  size = 0;
  EXPECT_STATUS(dgrad_problem_to_string(problem, buffer, 15, &size), DGRAD_OK);
  EXPECT_EQ(size, 16u);
  EXPECT_EQ(buffer[0], 'x') << "a buffer that is too small was written";
  EXPECT_INVALID(dgrad_problem_to_string(problem, buffer, 15, nullptr), "buffer", "15", "16");
  EXPECT_EQ(buffer[0], 'x');
  EXPECT_INVALID(dgrad_problem_to_string(problem, nullptr, 0, nullptr), "buffer", "size");
  EXPECT_STATUS(dgrad_problem_to_string(problem, buffer, 16, nullptr), DGRAD_OK);
  EXPECT_STREQ(buffer, "h3w3c1_k2x2_oc1");
  EXPECT_EQ(buffer[16], 'x') << "written past the given bytes";
  dgrad_problem_destroy(problem);
}

TEST(ProblemErrors, SuccessKeepsTheLastErrorAndThreadsHaveTheirOwn) {
  dgrad_problem* problem = nullptr;
  EXPECT_INVALID(dgrad_problem_from_string(nullptr, &problem), "text");
  const std::string before = dgrad_last_error();
  ASSERT_EQ(dgrad_problem_from_string("h3w3c1_k2x2_oc1", &problem), DGRAD_OK);
  EXPECT_EQ(before, dgrad_last_error());
  std::thread([] { EXPECT_STREQ(dgrad_last_error(), ""); }).join();
  dgrad_problem_destroy(problem);
  // The text itself may be an argument.
  EXPECT_INVALID(dgrad_problem_from_string(dgrad_last_error(), &problem), "problem string");
}

}  // namespace
}  // namespace dgrad_test
