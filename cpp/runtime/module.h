// StaticModule: what loading makes of a file, and what all its runtimes share: graphs, plans, constants. Immutable after load (but for the
// sizes that plans observe, and the signature plans made of them), so any thread may use it.
#pragma once

#include <ATen/core/ivalue.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/program.h"
#include "memory/budget.h"
#include "plan/plan.h"
#include "profile/metrics.h"
#include "runtime/input_check.h"
#include "runtime/options.h"
#include "runtime/signature.h"
#include "runtime/signature_cache.h"

namespace stator {

// One copy of the module's state: what its methods read and write between runs.
struct State {
  std::vector<c10::IValue> slots;
  std::mutex mutex;  // taken by runs only if the state is shared
};

class StaticMethod {
 public:
  StaticMethod(Method method, const ModuleOptions& options, int32_t index, std::shared_ptr<PackedWeights> packed,
               std::shared_ptr<MemoryBudget> budget);

  const std::string& name() const { return method_.name; }
  int32_t index() const { return index_; }  // in its module
  const Method& method() const { return method_; }
  const std::vector<Parameter>& parameters() const { return method_.parameters; }
  const c10::TypePtr& result() const { return method_.result; }
  // Throws the reason if the method cannot run.
  const Plan& plan() const;
  const Graph& graph() const;
  // NULL if the method has only the dynamic plan.
  SignatureCache* signatures() const { return signatures_.get(); }
  // What is declared of an input, NULL if nothing is.
  const InputSpec* spec(int32_t input) const {
    return input < static_cast<int32_t>(specs_.size()) && declared_[input] ? &specs_[input] : nullptr;
  }
  void declare(const std::vector<InputSpec>& specs, bool strict);
  // Runs need a plan made at load (strict.h).
  bool strict() const { return strict_; }
  const InputCheck& input_check() const { return input_check_; }
  // As StaticModule::trim(). A strict method keeps its plan.
  void trim();
  bool writes_input(int32_t input) const { return plan_ && plan_->writes_input[input]; }
  int32_t output_count() const {
    return plan_ && plan_->fixed_structure ? static_cast<int32_t>(plan_->leaves.size()) : -1;
  }

 private:
  std::vector<at::Tensor> declared_tensors() const;

  Method method_;
  int32_t index_;
  InputCheck input_check_;
  std::unique_ptr<Plan> plan_;
  std::unique_ptr<SignatureCache> signatures_;
  std::vector<InputSpec> specs_;
  std::vector<bool> declared_;
  bool strict_ = false;
};

// What became of the plans in the planned file that a module was loaded from.
struct PlannedFile {
  Maker maker;
  int64_t restored = 0;
  int64_t made_anew = 0;
  std::string outdated;  // why they could not be restored; "" if they fit
};

class StaticModule {
 public:
  StaticModule(Program program, const ModuleOptions& options);

  const std::vector<std::unique_ptr<StaticMethod>>& methods() const { return methods_; }
  // NULL if there is none.
  const StaticMethod* find_method(const std::string& name) const;
  const std::vector<StateSlot>& state_slots() const { return state_slots_; }
  bool stateful() const { return !state_slots_.empty(); }
  const std::string& format() const { return format_; }
  bool training() const { return training_; }
  // Of the file.
  int64_t weight_bytes() const;
  // Of what plans have made of them.
  int64_t packed_bytes() const { return packed_->bytes(); }

  PackedWeights& packed() const { return *packed_; }
  // Of the planned file that the module was loaded from, once; nullopt if it was another one.
  std::optional<SavedPlans> take_saved_plans() { return std::exchange(saved_plans_, std::nullopt); }
  // While the module is loaded.
  void set_planned_file(PlannedFile file) { planned_file_ = std::move(file); }
  const std::optional<PlannedFile>& planned_file() const { return planned_file_; }

  // What metrics call it: the option `name`.
  const std::string& name() const { return name_; }
  // Of all its runtimes.
  MetricsGroup& metrics() { return metrics_; }
  const MetricsGroup& metrics() const { return metrics_; }
  // Bytes that results of its runs lie in; arenas keep it true.
  int64_t arena_bytes() const { return arena_bytes_.load(std::memory_order_relaxed); }
  void add_arena_bytes(int64_t more) { arena_bytes_.fetch_add(more, std::memory_order_relaxed); }
  int64_t plan_evictions() const;

  // What runtimes, arenas, signature plans and repacked weights take of memory; the option `memory_limit_bytes` limits it.
  const std::shared_ptr<MemoryBudget>& budget() const { return budget_; }
  // Forgets the sizes seen so far and drops the signature plans: the next run of each method is as the first.
  void trim();

  // A deep copy of the file's state.
  std::shared_ptr<State> make_state() const;
  // The state that runtimes with StateSharing::kShared use.
  std::shared_ptr<State> shared_state();

 private:
  const std::shared_ptr<MemoryBudget> budget_;
  const std::shared_ptr<MemoryBudget> plan_budget_;  // a share of it
  const std::shared_ptr<PackedWeights> packed_;
  std::string format_;
  bool training_ = false;
  std::vector<std::unique_ptr<StaticMethod>> methods_;
  std::vector<StateSlot> state_slots_;
  std::shared_ptr<const void> keep_alive_;
  std::optional<SavedPlans> saved_plans_;
  std::optional<PlannedFile> planned_file_;
  std::mutex mutex_;
  std::shared_ptr<State> shared_state_;
  std::string name_;
  MetricsGroup metrics_;
  std::atomic<int64_t> arena_bytes_{0};
};

}  // namespace stator
