// Settings of the runtime's objects, as the C ABI's options name them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "plan/plan.h"
#include "runtime/launcher.h"

namespace stator {

enum class StateSharing : uint8_t { kUnset, kPrivate, kShared };

struct ModuleOptions {
  std::optional<bool> map_weights = {};  // nullopt: planned files are mapped, others copied
  bool signature_plans = false;
  bool plans_at_once = false;  // at the first sight of a signature, not the second
  bool strict = false;         // strict.h
  PlannerKind planner = PlannerKind::kStandard;
  std::string signature = {};  // "" or as signature.h parses it
  std::string name = {};       // for metrics
  int64_t memory_limit = 0;    // bytes; 0: none
};

struct RuntimeOptions {
  int intra_op_threads = 0;   // 0: the default
  int inter_op_threads = -1;  // helpers of a run's forks; -1: the default
  Launcher launcher = {};     // of forks and asynchronous runs
  StateSharing state = StateSharing::kUnset;
  int64_t memory_limit = 0;  // bytes; 0: none but the module's
  bool latencies = true;     // measured and counted
  bool warms_up = false;     // its runs are for the plans that they leave behind
};

struct PoolOptions {
  RuntimeOptions runtime;
  int max_runtimes = 128;
};

}  // namespace stator
