#include "text.h"

#include <charconv>
#include <cstdarg>
#include <cstdio>

namespace dgrad::cli {

std::string Format(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  va_list again;
  va_copy(again, arguments);
  const int size = std::vsnprintf(nullptr, 0, format, arguments);
  va_end(arguments);
  std::string text(size < 0 ? 0 : static_cast<size_t>(size), '\0');
  std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  return text;
}

std::string Bytes(uint64_t bytes) {
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1023.5 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return Format("%.3g %s", value, kUnits[unit]);
}

std::string Duration(double seconds) {
  if (seconds < 1e-3) return Format("%.3g us", seconds * 1e6);
  if (seconds < 1) return Format("%.3g ms", seconds * 1e3);
  return Format("%.3g s", seconds);
}

std::string Quote(std::string_view text) {
  constexpr size_t kLongest = 120;
  std::string quoted = "'";
  for (const char c : text.substr(0, kLongest)) {
    // Bytes above ASCII are parts of UTF-8 letters.
    const auto byte = static_cast<unsigned char>(c);
    quoted += byte < 0x20 || byte == 0x7F ? '?' : c;
  }
  return quoted + (text.size() > kLongest ? "...'" : "'");
}

std::string Join(const std::vector<std::string>& words, std::string_view separator) {
  std::string joined;
  for (const std::string& word : words) {
    if (&word != &words.front()) joined += separator;
    joined += word;
  }
  return joined;
}

std::string Shape(const std::vector<int64_t>& sizes) {
  std::string text = "(";
  for (const int64_t size : sizes) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(size);
  }
  return text + (sizes.size() == 1 ? ",)" : ")");
}

bool ParseInteger(std::string_view text, int64_t* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace dgrad::cli
