// Options that several commands share, and kinds of values.
#ifndef DGRAD_CLI_FLAGS_H_
#define DGRAD_CLI_FLAGS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <dgrad/dgrad.hpp>
#include <string>
#include <vector>

namespace dgrad::cli {

// An option that takes one of the words. Its type name, "a|b|c", is what the completion offers.
CLI::Option* AddChoice(CLI::App& command, const std::string& name, std::string* value,
                       const std::vector<std::string>& words, const std::string& description);

// An option that takes integers with commas between them, as "1,2,2,1"; brackets and spaces are
// allowed around and between them.
CLI::Option* AddIntegers(CLI::App& command, const std::string& name, std::vector<int64_t>* values,
                         const std::string& description);

// How to compute it.
struct PlanFlags {
  int32_t threads = 0;
  std::string accuracy = "fast";
  std::string isa;
  uint64_t workspace_limit = 0;
  std::string algorithm;

  void Add(CLI::App& command);
  PlanOptions Options() const;
};

Isa IsaOf(const std::string& name);  // Isa::kAuto for none
std::string NameOf(Isa isa);
// The instruction sets that this machine and the library have, the best first.
std::vector<Isa> UsableIsas();

// Problems that the command line names: problem strings, shape files, folders of them.
CLI::Option* AddProblems(CLI::App& command, std::vector<std::string>* names);

}  // namespace dgrad::cli

#endif  // DGRAD_CLI_FLAGS_H_
