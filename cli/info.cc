// dgrad info: the machine and the build.
#include <memory>

#include "command.h"
#include "flags.h"
#include "json.h"
#include "stream.h"
#include "text.h"

namespace dgrad::cli {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  dgrad info\n"
    "  DGRAD_ISA=avx2 dgrad info --json";

std::string Words(const Json& list) {
  std::vector<std::string> words;
  for (const Json& item : list.items()) words.push_back(item.text());
  return Join(words, ", ");
}

std::string CacheOf(const Json& caches, const char* name) {
  return Bytes(static_cast<uint64_t>(caches[name].number()));
}

void Print(const Json& info) {
  const Json& caches = info["cache_bytes"];
  const std::string isa =
      info.Has("isa") ? info["isa"].text() : "none: " + info["isa_error"].text();
  Out().Write("version:                   " + info["version"].text() +
              "\ncompiler:                  " + info["compiler"].text() +
              "\nbuild:                     " + info["build_type"].text() + ", assertions " +
              info["assertions"].text() + "\ncpu:                       " + info["cpu"].text() +
              "\ninstruction sets found:    " + Words(info["isas_detected"]) +
              "\ninstruction sets compiled: " + Words(info["isas_compiled"]) +
              "\ninstruction set in use:    " + isa + "\ncaches:                    L1 " +
              CacheOf(caches, "l1d") + ", L2 " + CacheOf(caches, "l2") + ", L3 " +
              CacheOf(caches, "l3") +
              "\nthreads:                   " + Format("%.0f", info["threads"].number()) +
              "\nalgorithms:                " + Join(algorithms(), ", ") + "\n");
}

}  // namespace

void AddInfo(CLI::App& app, Action* action) {
  CLI::App* command = app.add_subcommand("info", "Tell about the machine and the build");
  command->footer(kFooter);
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print JSON");
  command->callback([=] {
    *action = [json] {
      const std::string text = info();
      if (*json) {
        Out().Write(text + "\n");
      } else {
        Print(Json::Parse(text));
      }
      return kOk;
    };
  });
}

}  // namespace dgrad::cli
