// StaticRuntime: what one caller needs to run a module's methods: a workspace, a copy of the state, what is bound to inputs and outputs.
// One call at a time; a second one gets Error(kBusy).
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "memory/block.h"
#include "profile/profile.h"
#include "runtime/arena.h"
#include "runtime/forks.h"
#include "runtime/frame.h"
#include "runtime/module.h"
#include "runtime/signature_runs.h"

namespace stator {

class StaticRuntime {
 public:
  StaticRuntime(std::shared_ptr<StaticModule> module, const RuntimeOptions& options);
  ~StaticRuntime();
  StaticRuntime(const StaticRuntime&) = delete;
  StaticRuntime& operator=(const StaticRuntime&) = delete;

  const std::shared_ptr<StaticModule>& module() const { return module_; }
  std::unique_ptr<StaticRuntime> clone();
  void reset_state();

  // Binds a value to an input until it is bound again or unbound. `read_only`: refused where the method writes.
  void bind(const StaticMethod& method, int32_t index, c10::IValue value, bool read_only = false);
  // Memory of the runtime's own, zeroed, bound to an input.
  void* bind_window(const StaticMethod& method, int32_t index, at::ScalarType dtype, at::IntArrayRef shape);
  // A tensor of the result is written into this memory.
  void bind_output(const StaticMethod& method, int32_t index, at::Tensor memory);
  void unbind(const StaticMethod* method);

  void run(const StaticMethod& method, Arena& arena);
  void call(const StaticMethod& method, const std::vector<c10::IValue>& args,
            const std::vector<std::pair<std::string, c10::IValue>>& kwargs, Arena& arena);

  // A run for another thread to do: everything has been checked, and the runtime is in use until it has run or is destroyed.
  class Pending;
  std::unique_ptr<Pending> prepare_run(const StaticMethod& method, Arena& arena);
  std::unique_ptr<Pending> prepare_call(const StaticMethod& method, const std::vector<c10::IValue>& args,
                                        const std::vector<std::pair<std::string, c10::IValue>>& kwargs, Arena& arena);
  // Where such runs, and forks, find threads.
  const Launcher& launcher() const { return options_.launcher; }

  // Gives back the memory that is kept between runs; the next run takes it again.
  void trim();
  int64_t workspace_bytes() const { return metrics_->workspace_bytes(); }

  // From here on runs are profiled, afresh; up to `event_limit` events are kept for a trace.
  void start_profile(int64_t event_limit);
  // What was recorded stays readable.
  void stop_profile();
  // The last one started, NULL if none was. Any thread, also while it is written.
  std::shared_ptr<const Profile> profile() const;
  const std::shared_ptr<RunMetrics>& metrics() const { return metrics_; }

 private:
  struct BoundOutput {
    at::Tensor memory;
    PlannedBuffer buffer;
  };
  // What a runtime keeps for a method it has been used with.
  struct MethodState {
    MethodState(const StaticMethod& method, MemoryBlock& workspace, RunMetrics& metrics, const RuntimeOptions& options)
        : frame(method.plan()), bound(method.plan().input_count) {
      if (method.signatures()) signatures.emplace(frame, workspace, method, metrics, options);
    }
    Frame frame;
    std::optional<SignatureRuns> signatures;
    std::vector<std::optional<c10::IValue>> bound;
    // What the run under way reads; kept so that a run allocates nothing for it.
    std::vector<const c10::IValue*> inputs;
    std::vector<std::unique_ptr<BoundOutput>> outputs;  // by output index
    std::vector<int64_t> accepted_sizes;                // of inputs, as InputCheck knows them
    // The last run was of what is bound, and nothing has been bound since.
    bool same_inputs = false;
  };
  class Turn;

  void prepare_strict();
  MethodState& method_state(const StaticMethod& method);
  void check_owner(const StaticMethod& method) const;
  void check_aliasing(const StaticMethod& method, const std::vector<const c10::IValue*>& inputs) const;
  c10::IValue accept(const StaticMethod& method, int32_t index, c10::IValue value) const;
  void set_inputs(const StaticMethod& method, MethodState& state, const std::vector<const c10::IValue*>& inputs);
  MethodState& set_bound(const StaticMethod& method);
  MethodState& set_arguments(const StaticMethod& method, const std::vector<c10::IValue>& args,
                             const std::vector<std::pair<std::string, c10::IValue>>& kwargs);
  // Runs `body` in this caller's turn, and counts and times it.
  template <class Body>
  void take_turn(const StaticMethod& method, Body&& body);
  template <class Body>
  void count_failures(Body&& body);
  template <class Body>
  void time_run(const StaticMethod& method, Body&& body);
  bool run_again(const StaticMethod& method, Arena& arena);
  void run_frame(const StaticMethod& method, MethodState& state, Arena& arena, bool bound_outputs);
  void run_placed(const StaticMethod& method, MethodState& state, Arena& arena, bool bound_outputs);
  void fill_outputs(const StaticMethod& method, MethodState& state, ArenaContents& contents);

  std::shared_ptr<StaticModule> module_;
  RuntimeOptions options_;
  std::shared_ptr<State> state_;
  std::shared_ptr<MemoryBudget> budget_;
  MemoryBlock workspace_;
  std::vector<std::unique_ptr<MethodState>> methods_;
  std::shared_ptr<Forks> forks_;  // NULL until a method that forks is used
  std::atomic<bool> busy_{false};
  std::shared_ptr<RunMetrics> metrics_ = std::make_shared<RunMetrics>();
  mutable std::mutex profile_mutex_;  // guards profile_
  std::shared_ptr<Profile> profile_;  // the last one started
  Profile* recording_ = nullptr;      // it, or NULL when stopped; changed and read by the caller whose turn it is
};

class StaticRuntime::Pending {
 public:
  Pending(StaticRuntime& runtime, const StaticMethod& method, Arena& arena);
  ~Pending();
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

  // Once.
  void run();

 private:
  friend class StaticRuntime;
  StaticRuntime& runtime_;
  const StaticMethod& method_;
  Arena& arena_;
  std::unique_ptr<Turn> turn_;
  MethodState* state_ = nullptr;  // whose inputs are set
  bool bound_ = false;            // they are what is bound
};

std::string input_name(const StaticMethod& method, int32_t index);  // input "x" (argument 1)

}  // namespace stator
