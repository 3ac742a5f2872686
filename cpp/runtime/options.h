// Settings of the runtime's objects, as the C ABI's options name them.
#pragma once

#include <cstdint>
#include <string>

#include "plan/plan.h"

namespace stator {

enum class StateSharing : uint8_t { kUnset, kPrivate, kShared };

struct ModuleOptions {
  bool map_weights = false;
  bool signature_plans = false;
  PlannerKind planner = PlannerKind::kStandard;
  std::string signature = {};  // "" or as signature.h parses it
};

struct RuntimeOptions {
  int intra_op_threads = 0;  // 0: the default
  StateSharing state = StateSharing::kUnset;
};

struct PoolOptions {
  RuntimeOptions runtime;
  int max_runtimes = 128;
};

}  // namespace stator
