#include "profile/report.h"

#include <algorithm>
#include <map>
#include <utility>

namespace stator {
namespace {

MethodTimes times(const MethodProfile& profile, double scale) {
  const MethodProfile::Count runs = profile.runs();
  MethodTimes out{.method = profile.method(),
                  .plan = &profile.plan(),
                  .runs = runs.calls,
                  .nanoseconds = scale * static_cast<double>(runs.length),
                  .nodes = {}};
  std::map<std::pair<int32_t, bool>, NodeTime> nodes;
  const auto& code = profile.plan().code;
  for (size_t pc = 0; pc < code.size(); ++pc) {
    for (const bool bound : {false, true}) {
      const MethodProfile::Count count = profile.executed(static_cast<int32_t>(pc), bound);
      if (count.calls == 0) continue;
      auto [entry, first] = nodes.try_emplace({code[pc].node, bound}, NodeTime{code[pc].node, bound, 0, 0});
      // Control flow is several instructions of one node; its first one says how often the node was reached.
      if (first) entry->second.calls = count.calls;
      entry->second.nanoseconds += scale * static_cast<double>(count.length);
    }
  }
  for (const auto& [key, time] : nodes) out.nodes.push_back(time);
  return out;
}

}  // namespace

std::vector<MethodTimes> times(const Profile& profile) {
  const double scale = nanoseconds_per_tick();
  std::vector<MethodTimes> out;
  for (size_t method = 0; method < profile.method_count(); ++method) {
    if (const MethodProfile* seen = profile.seen(static_cast<int32_t>(method))) out.push_back(times(*seen, scale));
  }
  return out;
}

}  // namespace stator
