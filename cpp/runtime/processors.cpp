#include "runtime/processors.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

namespace stator {
namespace {

// Reads the quota of one group, 0 if it has none.
using Quota = double (*)(const std::string& folder);

double quota_v2(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");  // "max 100000" or "150000 100000"
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return 0;
  return std::atof(quota.c_str()) / period;
}

double quota_v1(const std::string& folder) {
  double quota = 0;
  double period = 0;
  std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;  // -1: none
  std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  return quota > 0 && period > 0 ? quota / period : 0;
}

double tighter(double a, double b) { return a > 0 && b > 0 ? std::min(a, b) : std::max(a, b); }

// From the group up to the root of its hierarchy. In a container the group's own path may not be seen: then the root, which stands for the
// container's group, is what there is.
double least_quota(const std::string& root, std::string group, Quota quota) {
  double least = 0;
  while (group.size() > 1) {
    least = tighter(least, quota(root + group));
    group.erase(group.rfind('/'));
  }
  return tighter(least, quota(root));
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

int count_processors() {
  cpu_set_t set;
  int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
  const double quota = cgroup_quota();
  if (quota > 0) count = std::min(count, static_cast<int>(std::floor(quota)));
  return std::max(count, 1);
}

}  // namespace

double cgroup_quota(const std::string& groups, const std::string& root) {
  double least = 0;
  std::ifstream file(groups);
  for (std::string line;
       std::getline(file, line);) {  // number:controllers:path, where 0 without controllers is version 2
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) {
      least = tighter(least, least_quota(root, group, quota_v2));
      continue;
    }
    const std::vector<std::string> names = split(controllers, ',');
    if (std::find(names.begin(), names.end(), "cpu") == names.end()) continue;
    least = tighter(least, least_quota(root + "/" + controllers, group, quota_v1));
    least = tighter(least, least_quota(root + "/cpu", group, quota_v1));
  }
  return least;
}

int available_processors() {
  static const int count = count_processors();
  return count;
}

}  // namespace stator
