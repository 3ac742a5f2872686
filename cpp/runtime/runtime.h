// StaticRuntime: what one caller needs to run a module's methods: a workspace, a copy of the state, what is bound to inputs and outputs.
// One call at a time; a second one gets Error(kBusy).
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "memory/block.h"
#include "runtime/arena.h"
#include "runtime/frame.h"
#include "runtime/module.h"
#include "runtime/signature_runs.h"

namespace stator {

class StaticRuntime {
 public:
  StaticRuntime(std::shared_ptr<StaticModule> module, const RuntimeOptions& options);

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

  int64_t workspace_bytes() const { return workspace_bytes_.load(std::memory_order_relaxed); }

 private:
  struct BoundOutput {
    at::Tensor memory;
    PlannedBuffer buffer;
  };
  // What a runtime keeps for a method it has been used with.
  struct MethodState {
    explicit MethodState(const StaticMethod& method) : frame(method.plan()), bound(method.plan().input_count) {
      if (method.signatures()) signatures.emplace(frame, *method.signatures());
    }
    Frame frame;
    std::optional<SignatureRuns> signatures;
    std::vector<std::optional<c10::IValue>> bound;
    std::vector<const c10::IValue*>
        inputs;  // what the run under way reads; kept so that a run allocates nothing for it
    std::vector<std::unique_ptr<BoundOutput>> outputs;  // by output index
  };
  class Turn;

  MethodState& method_state(const StaticMethod& method);
  void check_owner(const StaticMethod& method) const;
  void check_aliasing(const StaticMethod& method, const std::vector<const c10::IValue*>& inputs) const;
  c10::IValue accept(const StaticMethod& method, int32_t index, c10::IValue value) const;
  void set_inputs(const StaticMethod& method, MethodState& state, const std::vector<const c10::IValue*>& inputs);
  void run_frame(const StaticMethod& method, MethodState& state, Arena& arena, bool bound_outputs);
  void fill_outputs(const StaticMethod& method, MethodState& state, ArenaContents& contents);

  std::shared_ptr<StaticModule> module_;
  RuntimeOptions options_;
  std::shared_ptr<State> state_;
  MemoryBlock workspace_;
  std::vector<std::unique_ptr<MethodState>> methods_;
  std::atomic<bool> busy_{false};
  std::atomic<int64_t> workspace_bytes_{0};
};

std::string input_name(const StaticMethod& method, int32_t index);  // input "x" (argument 1)

}  // namespace stator
