// A profile added up by node, as it stands at the moment.
#pragma once

#include <vector>

#include "profile/profile.h"

namespace stator {

constexpr int32_t kNoNode = -1;  // instructions that only clear slots

struct NodeTime {
  int32_t node = kNoNode;  // in the plan's nodes
  bool bound = false;
  int64_t calls = 0;
  double nanoseconds = 0;
};

struct MethodTimes {
  int32_t method = 0;
  const Plan* plan = nullptr;
  int64_t runs = 0;
  double nanoseconds = 0;       // of whole runs
  std::vector<NodeTime> nodes;  // those that were executed, in the plan's order
};

// One entry per method that has run.
std::vector<MethodTimes> times(const Profile& profile);

}  // namespace stator
