#include "flags.h"

#include <algorithm>
#include <utility>

#include "json.h"
#include "text.h"

namespace dgrad::cli {
namespace {

constexpr std::pair<Isa, const char*> kIsas[] = {
    {Isa::kAvx512, "avx512"}, {Isa::kAvx2, "avx2"},     {Isa::kSse4, "sse4"},
    {Isa::kNeon, "neon"},     {Isa::kScalar, "scalar"},
};

// Empty, or why the text is no list.
std::string ParseIntegers(const std::string& text, std::vector<int64_t>* values) {
  std::string plain;
  for (const char c : text) {
    if (c != ' ' && c != '[' && c != ']' && c != '(' && c != ')') plain += c;
  }
  const std::string_view list = plain;
  values->clear();
  for (size_t at = 0;;) {
    const size_t comma = std::min(plain.find(',', at), plain.size());
    int64_t value = 0;
    if (!ParseInteger(list.substr(at, comma - at), &value)) {
      return Quote(text) + " is no list of integers with commas between them";
    }
    values->push_back(value);
    if (comma == plain.size()) return "";
    at = comma + 1;
  }
}

// "64m"; false if it is anything else or above 2^63 - 1.
bool ParseBytes(std::string_view text, uint64_t* bytes) {
  constexpr std::string_view kUnits = "kmg";
  size_t unit = kUnits.npos;
  if (!text.empty()) unit = kUnits.find(static_cast<char>(text.back() | 0x20));
  int shift = 0;
  if (unit != kUnits.npos) {
    text.remove_suffix(1);
    shift = 10 * static_cast<int>(unit + 1);
  }
  int64_t value = 0;
  if (!ParseInteger(text, &value) || value < 0 || value > INT64_MAX >> shift) return false;
  *bytes = static_cast<uint64_t>(value) << shift;
  return true;
}

}  // namespace

CLI::Option* AddChoice(CLI::App& command, const std::string& name, std::string* value,
                       const std::vector<std::string>& words, const std::string& description) {
  const auto check = [words](const std::string& given) -> std::string {
    if (std::find(words.begin(), words.end(), given) != words.end()) return "";
    return Quote(given) + " is none of " + Join(words, ", ");
  };
  return command.add_option(name, *value, description)->type_name(Join(words, "|"))->check(check);
}

CLI::Option* AddIntegers(CLI::App& command, const std::string& name, std::vector<int64_t>* values,
                         const std::string& description) {
  const auto take = [values, name](const std::string& text) {
    const std::string trouble = ParseIntegers(text, values);
    if (!trouble.empty()) throw CLI::ValidationError(name, trouble);
  };
  return command.add_option_function<std::string>(name, take, description)->type_name("INTEGERS");
}

void PlanFlags::Add(CLI::App& command) {
  std::vector<std::string> isas;
  for (const auto& known : kIsas) isas.emplace_back(known.second);
  command.add_option("--threads", threads, "Number of threads; 0: all that the process may use")
      ->type_name("N")
      ->check(CLI::Range(0, 1 << 16).description(""));
  AddChoice(command, "--accuracy", &accuracy, {"fast", "strict"},
            "fast may use transforms, strict sums directly (default: fast)");
  AddChoice(command, "--isa", &isa, isas, "Upper bound of the instruction set");
  AddChoice(command, "--algorithm", &algorithm, algorithms(), "Forces an algorithm");
  const auto take = [this](const std::string& text) {
    if (!ParseBytes(text, &workspace_limit)) {
      throw CLI::ValidationError("--workspace-limit", Quote(text) + " is no number of bytes");
    }
  };
  command
      .add_option_function<std::string>(
          "--workspace-limit", take,
          "Most scratch memory of a run; k, m or g may follow; 0: the library's own bound")
      ->type_name("BYTES");
}

PlanOptions PlanFlags::Options() const {
  PlanOptions options;
  options.threads = threads;
  options.accuracy = accuracy == "strict" ? Accuracy::kStrict : Accuracy::kFast;
  options.isa = IsaOf(isa);
  options.workspace_limit = workspace_limit;
  options.algorithm = algorithm;
  return options;
}

Isa IsaOf(const std::string& name) {
  for (const auto& [isa, known] : kIsas) {
    if (name == known) return isa;
  }
  return Isa::kAuto;
}

std::string NameOf(Isa isa) {
  for (const auto& [known, name] : kIsas) {
    if (isa == known) return name;
  }
  return "auto";
}

std::vector<Isa> UsableIsas() {
  const Json json = Json::Parse(info());
  std::vector<Isa> usable;
  for (const Json& compiled : json["isas_compiled"].items()) {
    for (const Json& detected : json["isas_detected"].items()) {
      if (compiled.text() == detected.text()) usable.push_back(IsaOf(compiled.text()));
    }
  }
  return usable;
}

CLI::Option* AddProblems(CLI::App& command, std::vector<std::string>* names) {
  return command
      .add_option("PROBLEM", *names, "Problem strings, files of them, or folders of such files")
      ->required()
      ->type_name("FILE");
}

}  // namespace dgrad::cli
