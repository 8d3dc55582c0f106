#include <dgrad/dgrad.h>

#include <span>
#include <string>
#include <vector>

#include "src/api/checks.h"
#include "src/api/convert.h"
#include "src/api/error.h"
#include "src/api/json.h"
#include "src/base/cache_size.h"
#include "src/base/isa.h"
#include "src/kernels/isas.h"
#include "src/plan/plan.h"
#include "src/threads/executor.h"

// The version as a string literal.
#define DGRAD_QUOTE_VALUE(value) #value
#define DGRAD_QUOTE(value) DGRAD_QUOTE_VALUE(value)
#define DGRAD_VERSION_TEXT         \
  DGRAD_QUOTE(DGRAD_VERSION_MAJOR) \
  "." DGRAD_QUOTE(DGRAD_VERSION_MINOR) "." DGRAD_QUOTE(DGRAD_VERSION_PATCH)

namespace dgrad {
namespace {

#if defined(__clang__)
constexpr const char kCompiler[] = "clang " __clang_version__;
#elif defined(__GNUC__)
constexpr const char kCompiler[] = "gcc " __VERSION__;
#else
constexpr const char kCompiler[] = "unknown";
#endif

#if defined(NDEBUG)
constexpr const char kAssertions[] = "off";
#else
constexpr const char kAssertions[] = "on";
#endif

#if defined(__OPTIMIZE__)
constexpr const char kBuildType[] = "optimized";
#else
constexpr const char kBuildType[] = "debug";
#endif

std::vector<std::string> Names(std::span<const Isa> isas) {
  std::vector<std::string> names;
  for (const Isa isa : isas) names.emplace_back(Name(isa));
  return names;
}

std::string Info() {
  const CacheSizes& caches = GetCacheSizes();
  JsonObject cache_bytes;
  cache_bytes.Number("l1d", caches.l1d).Number("l2", caches.l2).Number("l3", caches.l3);

  JsonObject info;
  info.Text("version", DGRAD_VERSION_TEXT)
      .Text("compiler", kCompiler)
      .Text("build_type", kBuildType)
      .Text("assertions", kAssertions)
      .Text("cpu", CpuModelName())
      .Texts("isas_detected", Names(DetectedIsas()))
      .Texts("isas_compiled", Names(CompiledIsas()));
  // What plans use unless told otherwise; an illegal DGRAD_ISA is worth seeing here.
  Isa isa = Isa::kScalar;
  const Status resolved = ResolveIsa(Isa::kAuto, &isa);
  if (resolved.ok()) {
    info.Text("isa", Name(isa));
  } else {
    info.Text("isa_error", resolved.message());
  }
  info.Object("cache_bytes", cache_bytes).Number("threads", NumThreads());
  return info.ToString();
}

}  // namespace
}  // namespace dgrad

dgrad_status dgrad_set_num_threads(int32_t threads) {
  return dgrad::Guard([&]() -> dgrad::Status {
    DGRAD_RETURN_IF_ERROR(dgrad::CheckThreads("threads", threads));
    dgrad::SetNumThreads(threads);
    return dgrad::Status();
  });
}

int32_t dgrad_get_num_threads(void) {
  int32_t threads = 1;
  const dgrad_status status = dgrad::Guard([&] {
    threads = dgrad::NumThreads();
    return dgrad::Status();
  });
  return status == DGRAD_OK ? threads : 1;
}

void dgrad_trim(void) {
  // Nothing to hand back: a failure is left as the last error.
  static_cast<void>(dgrad::Guard([] {
    dgrad::Trim();
    return dgrad::Status();
  }));
}

const char* dgrad_version(void) { return DGRAD_VERSION_TEXT; }

dgrad_status dgrad_info(char* buffer, uint64_t buffer_bytes, uint64_t* size) {
  return dgrad::Guard([&] { return dgrad::WriteText(dgrad::Info(), buffer, buffer_bytes, size); });
}
