#include "ops/registry.h"

#include <array>
#include <unordered_map>
#include <utility>

#include "graph/error.h"
#include "ops/custom.h"
#include "ops/fallback.h"
#include "ops/out_overload.h"

namespace stator {
namespace {

struct Entry {
  OpFunction run = nullptr;
  Prepare prepare = nullptr;
  explicit operator bool() const { return run || prepare; }
};

using Entries = std::array<Entry, 2>;  // kOut, kNative

struct Hash {
  using is_transparent = void;
  size_t operator()(std::string_view key) const { return std::hash<std::string_view>{}(key); }
};

using Registry = std::unordered_map<std::string, Entries, Hash, std::equal_to<>>;

// Filled by static objects of other files, in an order nobody knows, so it must make itself on first use.
Registry& registry() {
  static Registry instance;
  return instance;
}

void add(ImplKind kind, const char* key, Entry entry) { registry()[key].at(static_cast<size_t>(kind)) = entry; }

Implementation prepare(const Entry& entry, const Node& node) {
  if (entry.prepare) return entry.prepare(node);
  // Operators are immortal, so this shared_ptr owns nothing.
  return {.run = entry.run, .data = std::shared_ptr<const void>(std::shared_ptr<void>(), node.op)};
}

}  // namespace

Registration::Registration(ImplKind kind, const char* key, OpFunction run) { add(kind, key, {.run = run}); }
Registration::Registration(ImplKind kind, const char* key, Prepare prepare) { add(kind, key, {.prepare = prepare}); }

Implementation choose_implementation(const Node& node) {
  const bool is_operator = node.opcode == Opcode::kOperator;
  const std::string_view key =
      is_operator ? std::string_view(node.op->key) : std::string_view(opcode_name(node.opcode));
  std::string reason;
  if (auto found = registry().find(key); found != registry().end()) {
    for (ImplKind kind : {ImplKind::kOut, ImplKind::kNative}) {
      const Entry& entry = found->second[static_cast<size_t>(kind)];
      if (!entry) continue;
      Implementation chosen = prepare(entry, node);
      if (chosen.run) {
        chosen.kind = kind;
        if (chosen.reason.empty()) chosen.reason = std::move(reason);
        return chosen;
      }
      reason = std::move(chosen.reason);
    }
  }
  if (!is_operator)
    throw Error(ErrorCode::kInternal, "no implementation of " + std::string(key), {.op = std::string(key)});
  if (auto custom = custom_implementation(node)) return *std::move(custom);
  Implementation chosen = out_overload(node);
  if (reason.empty()) reason = std::move(chosen.reason);
  if (!chosen.run) chosen = fallback(node);
  chosen.reason = std::move(reason);
  return chosen;
}

bool registered(ImplKind kind, std::string_view key) {
  if (kind == ImplKind::kFallback) return false;
  auto found = registry().find(key);
  return found != registry().end() && found->second[static_cast<size_t>(kind)];
}

std::vector<std::string_view> registered_keys(ImplKind kind) {
  std::vector<std::string_view> keys;
  for (const auto& [key, entries] : registry()) {
    if (kind != ImplKind::kFallback && entries[static_cast<size_t>(kind)]) keys.push_back(key);
  }
  return keys;
}

}  // namespace stator
