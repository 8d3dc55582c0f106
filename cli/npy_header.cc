#include "npy_header.h"

#include "error.h"
#include "text.h"

namespace dgrad::cli {
namespace {

constexpr size_t kMostDimensions = 64;  // NumPy's own bound

class Parser {
 public:
  Parser(std::string_view text, const std::string& name) : rest_(text), name_(name) {}

  NpyFields Parse() {
    NpyFields fields;
    bool descr = false, order = false, shape = false;
    Expect('{');
    while (!Accept('}')) {
      const std::string key = String();
      Expect(':');
      if (key == "descr" && !descr) {
        fields.descr = Descr();
        descr = true;
      } else if (key == "fortran_order" && !order) {
        fields.fortran_order = Bool();
        order = true;
      } else if (key == "shape" && !shape) {
        fields.shape = Tuple();
        shape = true;
      } else {
        Fail("has the key " + Quote(key) + " twice or without need");
      }
      if (!Accept(',')) {
        Expect('}');
        break;
      }
    }
    SkipSpace();
    if (!rest_.empty()) Fail("has " + Quote(rest_) + " after its end");
    if (!descr || !order || !shape) Fail("lacks one of descr, fortran_order and shape");
    return fields;
  }

 private:
  [[noreturn]] void Fail(const std::string& what) const {
    throw Failure(name_ + " is damaged: its header " + what);
  }

  void SkipSpace() {
    const size_t n = rest_.find_first_not_of(" \n");
    rest_.remove_prefix(n == std::string_view::npos ? rest_.size() : n);
  }

  bool Accept(char c) {
    SkipSpace();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void Expect(char c) {
    if (!Accept(c)) Fail(std::string("has no ") + c + " where one must be");
  }

  std::string_view Take(size_t n) {
    const std::string_view taken = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return taken;
  }

  std::string String() {
    const char quote = Accept('"') ? '"' : '\'';
    if (quote == '\'') Expect('\'');
    const size_t end = rest_.find(quote);
    if (end == std::string_view::npos) Fail("has a text without an end");
    const std::string text(Take(end));
    rest_.remove_prefix(1);
    return text;
  }

  // A text, or the list of a structured type, whose inside nobody needs.
  std::string Descr() {
    if (!Accept('[')) return String();
    size_t depth = 1;
    while (depth > 0) {
      if (rest_.empty()) Fail("has a list without an end");
      const char c = rest_.front();
      if (c == '\'' || c == '"') {
        String();
        continue;
      }
      if (c == '[') ++depth;
      if (c == ']') --depth;
      rest_.remove_prefix(1);
    }
    return "[...]";
  }

  bool Bool() {
    SkipSpace();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (rest_.starts_with(word)) {
        rest_.remove_prefix(word.size());
        return value;
      }
    }
    Fail("has a fortran_order that is neither True nor False");
  }

  std::vector<int64_t> Tuple() {
    std::vector<int64_t> values;
    Expect('(');
    while (!Accept(')')) {
      SkipSpace();
      const size_t digits = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
      int64_t value = 0;
      if (digits == 0) Fail("has a shape with something else than sizes in it");
      if (!ParseInteger(Take(digits), &value)) Fail("has a size above 2^63 - 1");
      if (values.size() == kMostDimensions) Fail("has too many dimensions");
      values.push_back(value);
      if (!Accept(',')) {
        Expect(')');
        break;
      }
    }
    return values;
  }

  std::string_view rest_;
  const std::string& name_;
};

}  // namespace

NpyFields ParseNpyHeader(std::string_view text, const std::string& name) {
  return Parser(text, name).Parse();
}

}  // namespace dgrad::cli
