#include "json.h"

#include <charconv>
#include <cstdint>

#include "error.h"
#include "text.h"

namespace dgrad::cli {

class JsonParser {
 public:
  explicit JsonParser(std::string_view text) : text_(text) {}

  Json Whole() {
    Json value = Value(0);
    SkipSpace();
    if (at_ != text_.size()) Fail("there is more after the value");
    return value;
  }

 private:
  static constexpr int kDeepest = 64;

  [[noreturn]] void Fail(const std::string& what) const {
    throw Failure("not JSON, at byte " + std::to_string(at_) + ": " + what);
  }

  void SkipSpace() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != text_.npos) ++at_;
  }
  bool Accept(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  void Expect(std::string_view word) {
    SkipSpace();
    if (!Accept(word)) Fail("no " + std::string(word) + " where one must be");
  }

  Json Value(int depth) {
    if (depth > kDeepest) Fail("nested too deeply");
    SkipSpace();
    Json value;
    if (Accept("{")) {
      value.kind_ = Json::Kind::kObject;
      for (bool first = true; SkipSpace(), !Accept("}"); first = false) {
        if (!first) Expect(",");
        SkipSpace();
        std::string key = Text();
        Expect(":");
        value.members_[std::move(key)] = Value(depth + 1);
      }
    } else if (Accept("[")) {
      value.kind_ = Json::Kind::kList;
      for (bool first = true; SkipSpace(), !Accept("]"); first = false) {
        if (!first) Expect(",");
        value.items_.push_back(Value(depth + 1));
      }
    } else if (at_ < text_.size() && text_[at_] == '"') {
      value.kind_ = Json::Kind::kText;
      value.text_ = Text();
    } else if (Accept("true") || Accept("false")) {
      value.kind_ = Json::Kind::kBool;
    } else if (!Accept("null")) {
      value.kind_ = Json::Kind::kNumber;
      const char* end = text_.data() + text_.size();
      const auto [stop, error] = std::from_chars(text_.data() + at_, end, value.number_);
      if (error != std::errc()) Fail("no value where one must be");
      at_ = static_cast<size_t>(stop - text_.data());
    }
    return value;
  }

  std::string Text() {
    if (!Accept("\"")) Fail("no text where one must be");
    std::string text;
    for (;;) {
      if (at_ == text_.size()) Fail("a text without an end");
      const char c = text_[at_++];
      if (c == '"') return text;
      if (c != '\\') {
        text += c;
        continue;
      }
      if (at_ == text_.size()) Fail("a text without an end");
      Escape(text_[at_++], &text);
    }
  }

  void Escape(char c, std::string* text) {
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kValues = "\"\\/\b\f\n\r\t";
    const size_t known = kNames.find(c);
    if (known != kNames.npos) {
      *text += kValues[known];
      return;
    }
    uint32_t code = 0;
    const char* begin = text_.data() + at_;
    if (c != 'u' || text_.size() - at_ < 4 ||
        std::from_chars(begin, begin + 4, code, 16).ptr != begin + 4) {
      Fail("an unknown escape");
    }
    at_ += 4;
    if (code < 0x80) {
      *text += static_cast<char>(code);
    } else if (code < 0x800) {
      *text += static_cast<char>(0xC0 | code >> 6);
      *text += static_cast<char>(0x80 | (code & 63));
    } else {  // halves of pairs come out one by one: nothing here needs more
      *text += static_cast<char>(0xE0 | code >> 12);
      *text += static_cast<char>(0x80 | (code >> 6 & 63));
      *text += static_cast<char>(0x80 | (code & 63));
    }
  }

  std::string_view text_;
  size_t at_ = 0;
};

Json Json::Parse(std::string_view text) { return JsonParser(text).Whole(); }

const Json& Json::operator[](const std::string& key) const {
  const auto found = members_.find(key);
  if (found == members_.end()) throw Failure("JSON lacks the member " + Quote(key));
  return found->second;
}

bool Json::Has(const std::string& key) const { return members_.count(key) != 0; }

const std::vector<Json>& Json::items() const {
  if (kind_ != Kind::kList) throw Failure("JSON has something else where a list must be");
  return items_;
}

const std::string& Json::text() const {
  if (kind_ != Kind::kText) throw Failure("JSON has something else where a text must be");
  return text_;
}

double Json::number() const {
  if (kind_ != Kind::kNumber) throw Failure("JSON has something else where a number must be");
  return number_;
}

std::string JsonText(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      quoted += Format("\\u%04x", c);
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace dgrad::cli
