// Text for messages. Numbers look the same in every locale.
#ifndef DGRAD_BASE_TEXT_H_
#define DGRAD_BASE_TEXT_H_

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace dgrad {
namespace text_internal {

inline void Append(std::string& text, std::string_view piece) { text += piece; }
void Append(std::string& text, char piece) = delete;  // ambiguous: a letter or a number?
template <std::integral Number>
void Append(std::string& text, Number number) {
  text += std::to_string(number);
}
// A list of sizes: [1, 4, 5, 2].
inline void Append(std::string& text, std::span<const int64_t> list) {
  text += '[';
  for (size_t i = 0; i < list.size(); ++i) {
    if (i != 0) text += ", ";
    text += std::to_string(list[i]);
  }
  text += ']';
}

}  // namespace text_internal

// Joins strings, integers and lists of int64_t.
template <typename... Pieces>
std::string Concat(const Pieces&... pieces) {
  std::string text;
  (text_internal::Append(text, pieces), ...);
  return text;
}

}  // namespace dgrad

#endif  // DGRAD_BASE_TEXT_H_
