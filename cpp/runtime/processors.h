// How many processors this process may use.
#pragma once

#include <string>

namespace stator {

// What affinity allows, cut by the quota of control groups. At least 1. Looked up once.
int available_processors();

// The least quota, in processors, of the process's control group and all groups above it that can be seen; 0 if there is none. Versions 2
// and 1; `groups` is the file that names the groups, `root` where their hierarchies are mounted.
double cgroup_quota(const std::string& groups = "/proc/self/cgroup", const std::string& root = "/sys/fs/cgroup");

}  // namespace stator
