#include "src/base/cache_size.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>

#include "src/base/lazy.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace dgrad {
namespace {

constexpr int64_t kKiB = 1024;
constexpr int64_t kMiB = 1024 * kKiB;

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Bytes of the data cache of a level, 0 when sysfs does not tell.
int64_t FromSysfs(char level) {
  const std::string caches = "/sys/devices/system/cpu/cpu0/cache/index";
  for (int i = 0; i < 16; ++i) {
    const std::string cache = caches + std::to_string(i) + "/";
    const std::string found = FirstLine(cache + "level");
    if (found.empty()) break;
    if (found == std::string(1, level) && FirstLine(cache + "type") != "Instruction") {
      return ParseCacheSize(FirstLine(cache + "size"));
    }
  }
  return 0;
}

int64_t FromSysconf([[maybe_unused]] char level) {
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  const int name = level == '1'   ? _SC_LEVEL1_DCACHE_SIZE
                   : level == '2' ? _SC_LEVEL2_CACHE_SIZE
                                  : _SC_LEVEL3_CACHE_SIZE;
  return sysconf(name);  // 0 or -1: unknown
#else
  return 0;
#endif
}

int64_t Find(char level, int64_t fallback, int64_t low, int64_t high) {
  int64_t bytes = FromSysconf(level);
  if (bytes <= 0) bytes = FromSysfs(level);
  if (bytes <= 0) bytes = fallback;
  return std::clamp(bytes, low, high);
}

CacheSizes FindAll() {
  return {Find('1', 32 * kKiB, 8 * kKiB, kMiB), Find('2', kMiB, 64 * kKiB, 256 * kMiB),
          Find('3', 8 * kMiB, kMiB, 4096 * kMiB)};
}

std::string Trim(std::string text) {
  const char* blanks = " \t\n";
  text.erase(0, text.find_first_not_of(blanks));
  text.erase(text.find_last_not_of(blanks) + 1);
  return text;
}

std::string FromCpuid() {
#if defined(__x86_64__) || defined(__i386__)
  unsigned words[12] = {};  // the brand string: three leaves of 16 characters
  for (unsigned i = 0; i < 3; ++i) {
    unsigned* w = words + 4 * i;
    if (__get_cpuid(0x80000002 + i, w, w + 1, w + 2, w + 3) == 0) return {};
  }
  char text[sizeof(words) + 1] = {};
  std::memcpy(text, words, sizeof(words));
  return Trim(text);
#else
  return {};
#endif
}

// The value of the first line "key : value" of /proc/cpuinfo, else "".
std::string FromCpuinfo(const char* key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (colon != std::string::npos && Trim(line.substr(0, colon)) == key) {
      return Trim(line.substr(colon + 1));
    }
  }
  return {};
}

std::string FindModelName() {
  std::string name = FromCpuid();
  if (name.empty()) name = FromCpuinfo("model name");
  if (!name.empty()) return name;
  const std::string part = FromCpuinfo("CPU part");  // Arm gives numbers only
  if (part.empty()) return "unknown CPU";
  return "CPU implementer " + FromCpuinfo("CPU implementer") + " part " + part;
}

}  // namespace

int64_t ParseCacheSize(std::string_view text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || value < 0 || value > (int64_t{1} << 40)) return 0;
  const std::string_view unit(rest, static_cast<size_t>(end - rest));
  if (unit.empty()) return value;
  if (unit == "K") return value * kKiB;
  if (unit == "M") return value * kMiB;
  if (unit == "G") return value * kMiB * 1024;
  return 0;
}

const CacheSizes& GetCacheSizes() { return Lazy<FindAll>(); }

const std::string& CpuModelName() { return Lazy<FindModelName>(); }

}  // namespace dgrad
