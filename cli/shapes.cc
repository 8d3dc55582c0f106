#include "shapes.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "byte_source.h"
#include "error.h"
#include "text.h"

namespace dgrad::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostBytes = 16u << 20;

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

// False, with *trouble, if the mark is unknown.
bool ParseLine(std::string_view text, ShapeLine* line, std::string* trouble) {
  const size_t comment = text.find('#');
  if (comment != text.npos) line->name = Trim(text.substr(comment + 1));
  text = Trim(text.substr(0, comment));
  if (text.starts_with('!')) {
    const size_t space = std::min(text.find(' '), text.size());
    const std::string mark(text.substr(1, space - 1));
    for (dgrad_status status = DGRAD_INVALID_ARGUMENT; status <= DGRAD_INTERNAL; ++status) {
      if (mark == NameOfStatus(status)) line->expected = status;
    }
    if (line->expected == DGRAD_OK) {
      *trouble = Quote(mark) + " is no status that can be expected";
      return false;
    }
    text = Trim(text.substr(space));
  }
  line->problem = text;
  return true;
}

std::string ReadText(const std::string& path) {
  const auto file = OpenFile(path);
  std::string text;
  char piece[1 << 14];
  while (const size_t got = file->Read(std::as_writable_bytes(std::span(piece)))) {
    text.append(piece, got);
    if (text.size() > kMostBytes) {
      throw Failure(Quote(path) + " is no shape file: it has more than " + Bytes(kMostBytes));
    }
  }
  if (text.find('\0') != text.npos) {
    throw Failure(Quote(path) + " is no shape file: it has zero bytes in it");
  }
  return text;
}

void ReadFile(const std::string& path, std::vector<ShapeLine>* lines) {
  const std::string text = ReadText(path);
  const std::string_view whole = text;
  int number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    ShapeLine line;
    line.where = path + ":" + std::to_string(++number);
    std::string trouble;
    if (!ParseLine(whole.substr(at, end - at), &line, &trouble)) {
      throw Failure(line.where + ": " + trouble);
    }
    at = end + 1;
    if (!line.problem.empty()) {
      lines->push_back(line);
    } else if (line.expected != DGRAD_OK) {
      throw Failure(line.where + ": a problem string is missing");
    }
  }
}

void ReadFolder(const std::string& path, std::vector<ShapeLine>* lines) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".txt") files.push_back(entry->path().string());
  }
  if (error) throw Failure("can't read " + Quote(path) + ": " + error.message());
  if (files.empty()) throw Failure(Quote(path) + " has no *.txt in it");
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) ReadFile(file, lines);
}

// A word of the command line that is no file.
ShapeLine FromString(const std::string& text) {
  ShapeLine line;
  std::string trouble;
  if (!ParseLine(text, &line, &trouble)) throw UsageError(trouble);
  if (line.expected != DGRAD_OK) return line;
  try {
    Problem problem(line.problem);
  } catch (const Error& error) {
    if (text.find('/') != text.npos || text.ends_with(".txt")) {
      throw Failure("there is no file or folder " + Quote(text));
    }
    throw UsageError(error.what());
  }
  return line;
}

}  // namespace

std::vector<ShapeLine> ReadShapes(const std::vector<std::string>& names) {
  std::vector<ShapeLine> lines;
  for (const std::string& name : names) {
    std::error_code error;
    if (fs::is_directory(name, error)) {
      ReadFolder(name, &lines);
    } else if (fs::exists(name, error)) {
      const size_t before = lines.size();
      ReadFile(name, &lines);
      if (lines.size() == before) throw Failure(Quote(name) + " has no problem strings in it");
    } else {
      lines.push_back(FromString(name));
    }
  }
  return lines;
}

std::string NameOfStatus(dgrad_status status) {
  switch (status) {
    case DGRAD_OK:
      return "ok";
    case DGRAD_INVALID_ARGUMENT:
      return "invalid_argument";
    case DGRAD_UNIMPLEMENTED:
      return "unimplemented";
    case DGRAD_OUT_OF_MEMORY:
      return "out_of_memory";
    case DGRAD_CANCELLED:
      return "cancelled";
    default:
      return "internal";
  }
}

}  // namespace dgrad::cli
