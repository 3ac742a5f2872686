#include "memory/storage_groups.h"

#include <algorithm>
#include <numeric>

namespace stator {

std::vector<int32_t> assign_storage_groups(std::span<const Lifetime> lifetimes) {
  std::vector<size_t> by_start(lifetimes.size());
  std::iota(by_start.begin(), by_start.end(), size_t{0});
  std::stable_sort(by_start.begin(), by_start.end(),
                   [&](size_t a, size_t b) { return lifetimes[a].first < lifetimes[b].first; });

  struct Group {
    int32_t id;
    int32_t busy_until;
  };
  std::vector<Group> groups;
  std::vector<int32_t> out(lifetimes.size());
  for (size_t buffer : by_start) {
    Group* latest = nullptr;
    for (Group& group : groups) {
      if (group.busy_until < lifetimes[buffer].first && (!latest || group.busy_until > latest->busy_until))
        latest = &group;
    }
    if (!latest) latest = &groups.emplace_back(Group{static_cast<int32_t>(groups.size()), 0});
    latest->busy_until = lifetimes[buffer].last;
    out[buffer] = latest->id;
  }
  return out;
}

std::vector<int32_t> assign_own_groups(size_t buffers) {
  std::vector<int32_t> out(buffers);
  std::iota(out.begin(), out.end(), 0);
  return out;
}

ArenaLayout layout_groups(std::span<const int32_t> groups, std::span<const int64_t> bytes,
                          std::vector<int64_t>* capacities) {
  int32_t count = groups.empty() ? 0 : *std::max_element(groups.begin(), groups.end()) + 1;
  std::vector<int64_t> size(count, 0);
  for (size_t i = 0; i < groups.size(); ++i) size[groups[i]] = std::max(size[groups[i]], align_up(bytes[i]));
  std::vector<int64_t> start(count, 0);
  ArenaLayout layout;
  for (int32_t g = 0; g < count; ++g) {
    start[g] = layout.bytes;
    layout.bytes += size[g];
  }
  layout.offsets.reserve(groups.size());
  if (capacities) capacities->clear();
  for (int32_t group : groups) {
    layout.offsets.push_back(start[group]);
    if (capacities) capacities->push_back(size[group]);
  }
  return layout;
}

}  // namespace stator
