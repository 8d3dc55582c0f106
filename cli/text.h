// Text for people.
#ifndef DGRAD_CLI_TEXT_H_
#define DGRAD_CLI_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dgrad::cli {

// As printf.
[[gnu::format(printf, 1, 2)]] std::string Format(const char* format, ...);

// "1.5 MiB"
std::string Bytes(uint64_t bytes);

// "12.3 ms"
std::string Duration(double seconds);

// What came from outside, fit for a message: short, printable, in quotes.
std::string Quote(std::string_view text);

std::string Join(const std::vector<std::string>& words, std::string_view separator);

// "(8, 56, 56, 64)", as NumPy writes shapes: "(5,)" with one dimension.
std::string Shape(const std::vector<int64_t>& sizes);

// The number in decimal digits, an optional minus in front; false if it is anything else.
bool ParseInteger(std::string_view text, int64_t* value);

}  // namespace dgrad::cli

#endif  // DGRAD_CLI_TEXT_H_
