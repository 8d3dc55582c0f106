// JSON, as much as the program writes and reads.
#ifndef DGRAD_CLI_JSON_H_
#define DGRAD_CLI_JSON_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dgrad::cli {

// A value that was read. Asking for what isn't there throws a Failure.
class Json {
 public:
  // The whole text must be one value, nested at most 64 deep.
  static Json Parse(std::string_view text);

  const Json& operator[](const std::string& key) const;
  bool Has(const std::string& key) const;
  const std::vector<Json>& items() const;
  const std::string& text() const;
  double number() const;

  bool is_text() const { return kind_ == Kind::kText; }
  bool is_number() const { return kind_ == Kind::kNumber; }
  bool is_list() const { return kind_ == Kind::kList; }

 private:
  friend class JsonParser;
  enum class Kind { kNull, kBool, kNumber, kText, kList, kObject };

  Kind kind_ = Kind::kNull;
  double number_ = 0;
  std::string text_;
  std::vector<Json> items_;
  std::map<std::string, Json> members_;
};

// The text as a JSON string, quotes included. Bytes above ASCII are taken to be UTF-8.
std::string JsonText(std::string_view text);

}  // namespace dgrad::cli

#endif  // DGRAD_CLI_JSON_H_
