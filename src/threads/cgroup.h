// CPU time limits of control groups (containers).
#ifndef DGRAD_THREADS_CGROUP_H_
#define DGRAD_THREADS_CGROUP_H_

#include <string>
#include <string_view>

namespace dgrad {

// CPUs' worth of time the process may use, rounded up: the smallest quota of its groups and their
// ancestors, in version 2 (cpu.max) and version 1 (cpu.cfs_quota_us); 0 when there is none.
// membership: the text of /proc/self/cgroup. root: where groups are mounted, /sys/fs/cgroup.
int CgroupCpus(std::string_view membership, const std::string& root);

}  // namespace dgrad

#endif  // DGRAD_THREADS_CGROUP_H_
