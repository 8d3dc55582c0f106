// Just enough JSON to describe the library: one object, written member by member.
#ifndef DGRAD_API_JSON_H_
#define DGRAD_API_JSON_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace dgrad {

// The text in quotes, with quotes, backslashes and control characters escaped. Bytes that are not
// UTF-8 become U+FFFD, so that every parser takes the result.
std::string JsonQuote(std::string_view text);

class JsonObject {
 public:
  JsonObject& Text(std::string_view key, std::string_view value);
  JsonObject& Number(std::string_view key, int64_t value);
  JsonObject& Texts(std::string_view key, std::span<const std::string> values);
  JsonObject& Object(std::string_view key, const JsonObject& value);

  std::string ToString() const { return '{' + members_ + '}'; }

 private:
  JsonObject& Member(std::string_view key, std::string_view json);

  std::string members_;
};

}  // namespace dgrad

#endif  // DGRAD_API_JSON_H_
