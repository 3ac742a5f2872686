// The open registries of implementations. For each node the best kind that is registered and accepts the node is chosen when the plan is
// made: out variant, native op; else LibTorch's own out overload (out_overload.h), else the fallback to LibTorch's operator.
//
// Registering: a static Registration in any .cpp of ops/ (HACKING.md shows one).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "ops/call.h"

namespace stator {

enum class ImplKind : uint8_t { kOut, kNative, kFallback };

using OpFunction = void (*)(const Call&);

struct Implementation {
  OpFunction run = nullptr;
  std::shared_ptr<const void> data = {};  // what Call::data() gives; made once per node
  ImplKind kind = ImplKind::kFallback;
  std::string reason = {};  // why not a better kind; for `stator plan`
};

// Says whether the implementation takes this node (constants may matter), and prepares what it needs.
// An empty `run` means no.
using Prepare = Implementation (*)(const Node& node);

// An implementation that takes every node of its operator and needs nothing prepared.
struct Registration {
  // `key` is an operator's key ("aten::add.Tensor") or an opcode's name ("prim::ListConstruct").
  Registration(ImplKind kind, const char* key, OpFunction run);
  Registration(ImplKind kind, const char* key, Prepare prepare);
};

// The best implementation for a node. Never fails for kOperator and container opcodes; control flow is the plan's.
Implementation choose_implementation(const Node& node);

// True if an implementation of this kind is registered for the key.
bool registered(ImplKind kind, std::string_view key);

// All keys with an implementation of this kind, in no order.
std::vector<std::string_view> registered_keys(ImplKind kind);

}  // namespace stator
