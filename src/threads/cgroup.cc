#include "src/threads/cgroup.h"

#include <algorithm>
#include <cstdint>
#include <fstream>

namespace dgrad {
namespace {

// The smaller of two limits of which 0 means none.
int Tighter(int a, int b) { return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b); }

// 0 unless both are positive.
int CpusOf(int64_t quota, int64_t period) {
  if (quota <= 0 || period <= 0) return 0;
  return static_cast<int>(std::min<int64_t>((quota - 1) / period + 1, 1 << 20));
}

// "200000 100000", or "max 100000", which leaves quota 0.
int Version2(const std::string& group) {
  std::ifstream file(group + "/cpu.max");
  int64_t quota = 0;
  int64_t period = 0;
  if (!(file >> quota >> period)) return 0;
  return CpusOf(quota, period);
}

// Two files of one number each; a quota of -1 is none.
int Version1(const std::string& group) {
  std::ifstream quota_file(group + "/cpu.cfs_quota_us");
  std::ifstream period_file(group + "/cpu.cfs_period_us");
  int64_t quota = 0;
  int64_t period = 0;
  if (!(quota_file >> quota) || !(period_file >> period)) return 0;
  return CpusOf(quota, period);
}

// The tightest limit of a group and its ancestors. In a container the path may be the host's, which
// does not exist here: then the walk ends at the mount, which is the container's own group.
int Walk(const std::string& mount, std::string_view path, int (*read)(const std::string&)) {
  // "/../x" is a group outside of the mounted part; only the mount itself is known of its
  // ancestors.
  if (path.find("..") != std::string_view::npos) path = {};
  int cpus = 0;
  for (;;) {
    while (!path.empty() && path.back() == '/') path.remove_suffix(1);
    cpus = Tighter(cpus, read(mount + std::string(path)));
    if (path.empty()) return cpus;
    path = path.substr(0, path.rfind('/') + 1);  // "/a/b" -> "/a/"; without a slash -> ""
  }
}

// Whether a comma-separated list such as "cpu,cpuacct" has "cpu".
bool HasCpu(std::string_view controllers) {
  while (!controllers.empty()) {
    const size_t comma = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, comma) == "cpu") return true;
    controllers.remove_prefix(std::min(comma + 1, controllers.size()));
  }
  return false;
}

}  // namespace

int CgroupCpus(std::string_view membership, const std::string& root) {
  int cpus = 0;
  while (!membership.empty()) {
    const size_t end = std::min(membership.find('\n'), membership.size());
    const std::string_view line = membership.substr(0, end);
    membership.remove_prefix(std::min(end + 1, membership.size()));

    // number:controllers:path; version 2 has number 0 and no controllers.
    const size_t first = line.find(':');
    if (first == std::string_view::npos) continue;
    const size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view path = line.substr(second + 1);
    if (controllers.empty()) {
      cpus = Tighter(cpus, Walk(root, path, Version2));
    } else if (HasCpu(controllers)) {
      // The mount is named by all its controllers, with a link for each of them where there are
      // two.
      cpus = Tighter(cpus, Walk(root + "/" + std::string(controllers), path, Version1));
      if (controllers != "cpu") cpus = Tighter(cpus, Walk(root + "/cpu", path, Version1));
    }
  }
  return cpus;
}

}  // namespace dgrad
