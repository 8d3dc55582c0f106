#include "src/api/json.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace dgrad {
namespace {

using std::string_literals::operator""s;

TEST(Json, QuotesWhatJsonForbids) {
  EXPECT_EQ(JsonQuote(""), "\"\"");
  EXPECT_EQ(JsonQuote("plain / text"), "\"plain / text\"");
  EXPECT_EQ(JsonQuote("a\"b\\c"), "\"a\\\"b\\\\c\"");
  EXPECT_EQ(JsonQuote("\n\t\x01\x7F\0"s), "\"\\u000a\\u0009\\u0001\\u007f\\u0000\"");
}

TEST(Json, KeepsUtf8AndReplacesWhatIsNot) {
  EXPECT_EQ(JsonQuote("\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"),
            "\"\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80\"");
  EXPECT_EQ(JsonQuote("\xFF"), "\"\\ufffd\"");
  EXPECT_EQ(JsonQuote("\xC3"), "\"\\ufffd\"");                        // cut short
  EXPECT_EQ(JsonQuote("\x80z"), "\"\\ufffdz\"");                      // no lead byte
  EXPECT_EQ(JsonQuote("\xC0\xAF"), "\"\\ufffd\\ufffd\"");             // overlong
  EXPECT_EQ(JsonQuote("\xE0\x80\xAF"), "\"\\ufffd\\ufffd\\ufffd\"");  // overlong
  EXPECT_EQ(JsonQuote("\xED\xA0\x80"), "\"\\ufffd\\ufffd\\ufffd\"");  // a surrogate
  EXPECT_EQ(JsonQuote("\xF4\x90\x80\x80"), "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
}

TEST(Json, ObjectsNest) {
  EXPECT_EQ(JsonObject().ToString(), "{}");
  JsonObject inner;
  inner.Number("low", INT64_MIN).Number("high", INT64_MAX);
  JsonObject outer;
  outer.Text("a", "b").Texts("none", {}).Texts("two", std::vector<std::string>{"x", "\""});
  outer.Object("in", inner);
  EXPECT_EQ(outer.ToString(),
            "{\"a\": \"b\", \"none\": [], \"two\": [\"x\", \"\\\"\"], \"in\": "
            "{\"low\": -9223372036854775808, \"high\": 9223372036854775807}}");
}

}  // namespace
}  // namespace dgrad
