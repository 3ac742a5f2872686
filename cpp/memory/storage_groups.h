// The standard planner: buffers whose lifetimes do not meet share a group, and a group is as large as its largest member. Sizes need not be
// known when groups are made, so this serves plans for changing shapes. After Static Runtime's StandardMemoryPlanner.
#pragma once

#include <span>

#include "memory/layout.h"

namespace stator {

// One group number per buffer, dense from 0. Walks buffers by the start of their lifetime and reuses the group that became free last,
// whose memory is warmest.
std::vector<int32_t> assign_storage_groups(std::span<const Lifetime> lifetimes);

// The naive planner: a group for every buffer.
std::vector<int32_t> assign_own_groups(size_t buffers);

// Places groups one behind another; every buffer gets its group's offset. `capacities`, if given, receives each buffer's group size.
ArenaLayout layout_groups(std::span<const int32_t> groups, std::span<const int64_t> bytes,
                          std::vector<int64_t>* capacities = nullptr);

}  // namespace stator
