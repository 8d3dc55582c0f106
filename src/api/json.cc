#include "src/api/json.h"

#include <cstddef>

#include "src/base/text.h"

namespace dgrad {
namespace {

// Bytes of the well-formed UTF-8 sequence that begins at `at`, 0 if there is none.
size_t SequenceLength(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) -> unsigned {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
  };
  const auto continues = [&](size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned lead = byte(0);
  const unsigned second = byte(1);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return continues(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    // No overlong forms, no surrogates.
    const bool legal = (lead != 0xE0 || second >= 0xA0) && (lead != 0xED || second < 0xA0);
    return legal && continues(1) && continues(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const bool legal = (lead != 0xF0 || second >= 0x90) && (lead != 0xF4 || second < 0x90);
    return legal && continues(1) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::string JsonQuote(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string quoted = "\"";
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const size_t length = SequenceLength(text, i);
    if (byte == '"' || byte == '\\') {
      quoted += '\\';
      quoted += text[i];
    } else if (byte < 0x20 || byte == 0x7F) {
      quoted += "\\u00";
      quoted += kHex[byte >> 4];
      quoted += kHex[byte & 0xF];
    } else if (length == 0) {
      quoted += "\\ufffd";
    } else {
      quoted += text.substr(i, length);
    }
    i += length == 0 ? 1 : length;
  }
  quoted += '"';
  return quoted;
}

JsonObject& JsonObject::Member(std::string_view key, std::string_view json) {
  if (!members_.empty()) members_ += ", ";
  members_ += JsonQuote(key);
  members_ += ": ";
  members_ += json;
  return *this;
}

JsonObject& JsonObject::Text(std::string_view key, std::string_view value) {
  return Member(key, JsonQuote(value));
}

JsonObject& JsonObject::Number(std::string_view key, int64_t value) {
  return Member(key, Concat(value));
}

JsonObject& JsonObject::Texts(std::string_view key, std::span<const std::string> values) {
  std::string list;
  for (const std::string& value : values) {
    if (!list.empty()) list += ", ";
    list += JsonQuote(value);
  }
  return Member(key, '[' + list + ']');
}

JsonObject& JsonObject::Object(std::string_view key, const JsonObject& value) {
  return Member(key, value.ToString());
}

}  // namespace dgrad
