#include "runtime/runtime.h"

#include <ATen/EmptyTensor.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/ops/copy.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>

#include "graph/error.h"
#include "graph/log.h"
#include "ops/threads.h"
#include "runtime/execute.h"
#include "runtime/lent_inputs.h"
#include "runtime/processors.h"
#include "runtime/results.h"
#include "runtime/run_memory.h"
#include "runtime/strict.h"
#include "values/conform.h"
#include "values/deep_copy.h"

namespace stator {

std::string input_name(const StaticMethod& method, int32_t index) {
  return input_place(method.parameters()[index].name, index);
}

// One caller's use of the runtime.
class StaticRuntime::Turn {
 public:
  explicit Turn(StaticRuntime& runtime) : busy_(runtime.busy_) {
    if (busy_.exchange(true, std::memory_order_acquire)) {
      throw Error(ErrorCode::kBusy, "the runtime is in use by another caller: give each caller its own, or use a pool");
    }
  }
  ~Turn() { busy_.store(false, std::memory_order_release); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  std::atomic<bool>& busy_;
};

StaticRuntime::StaticRuntime(std::shared_ptr<StaticModule> module, const RuntimeOptions& options)
    : module_(std::move(module)),
      options_(options),
      budget_(std::make_shared<MemoryBudget>("runtime", options.memory_limit, module_->budget())),
      workspace_(budget_),
      methods_(module_->methods().size()) {
  if (options_.intra_op_threads == 0) options_.intra_op_threads = available_processors();
  const auto& methods = module_->methods();
  if (std::any_of(methods.begin(), methods.end(), [](auto& method) { return method->strict(); })) prepare_strict();
  if (options_.inter_op_threads < 0) options_.inter_op_threads = available_processors() - 1;
  state_ = options_.state == StateSharing::kShared ? module_->shared_state() : module_->make_state();
  module_->metrics().join(metrics_);
}

void StaticRuntime::prepare_strict() {
  if (budget_->limited()) {
    throw Error(ErrorCode::kInvalidArgument,
                "strict mode: a runtime of this module takes no memory limit: memory is counted as runs allocate, and "
                "these do not");
  }
  // Plans differ in how many threads they share work among.
  if (!options_.warms_up) make_strict(module_, options_.intra_op_threads);
}

StaticRuntime::~StaticRuntime() { module_->metrics().leave(metrics_); }

template <class Body>
void StaticRuntime::take_turn(const StaticMethod& method, Body&& body) {
  count_failures([&] {
    Turn turn(*this);
    time_run(method, body);
  });
}

template <class Body>
void StaticRuntime::time_run(const StaticMethod& method, Body&& body) {
  if (!options_.latencies && !recording_) {
    body();
    metrics_->succeeded();
    return;
  }
  const Ticks start = ticks();
  body();
  const Ticks length = ticks() - start;
  options_.latencies ? metrics_->succeeded(length) : metrics_->succeeded();
  if (recording_) recording_->of(method.plan(), method.index()).ran(start, length);
}

template <class Body>
void StaticRuntime::count_failures(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    metrics_->failed(error.code);
    throw;
  } catch (const std::bad_alloc&) {
    metrics_->failed(ErrorCode::kOutOfMemory);
    throw;
  } catch (const c10::OutOfMemoryError&) {
    metrics_->failed(ErrorCode::kOutOfMemory);
    throw;
  } catch (...) {
    metrics_->failed(ErrorCode::kInternal);
    throw;
  }
}

void StaticRuntime::start_profile(int64_t event_limit) {
  auto fresh = std::make_shared<Profile>(module_->methods().size(), event_limit);
  Turn turn(*this);
  std::lock_guard lock(profile_mutex_);
  profile_ = std::move(fresh);
  recording_ = profile_.get();
}

void StaticRuntime::stop_profile() {
  Turn turn(*this);
  recording_ = nullptr;
}

std::shared_ptr<const Profile> StaticRuntime::profile() const {
  std::lock_guard lock(profile_mutex_);
  return profile_;
}

std::unique_ptr<StaticRuntime> StaticRuntime::clone() {
  Turn turn(*this);
  RuntimeOptions options = options_;
  auto copy = std::make_unique<StaticRuntime>(module_, options);
  if (options_.state != StateSharing::kShared) copy->state_->slots = deep_copy(state_->slots);
  return copy;
}

void StaticRuntime::trim() {
  Turn turn(*this);
  for (const auto& state : methods_) {
    if (!state) continue;
    if (state->signatures) state->signatures->trim();
    state->frame.forget_places();
  }
  workspace_.release();
  if (forks_) forks_->trim();
  metrics_->set_workspace_bytes(0);
}

void StaticRuntime::reset_state() {
  Turn turn(*this);
  auto fresh = module_->make_state();
  std::unique_lock<std::mutex> lock;
  if (options_.state == StateSharing::kShared) lock = std::unique_lock(state_->mutex);
  state_->slots = std::move(fresh->slots);
}

void StaticRuntime::check_owner(const StaticMethod& method) const {
  const auto& methods = module_->methods();
  auto index = static_cast<size_t>(method.index());
  if (index >= methods.size() || methods[index].get() != &method) {
    throw Error(ErrorCode::kInvalidArgument, "method \"" + method.name() + "\" is of another module than the runtime");
  }
}

StaticRuntime::MethodState& StaticRuntime::method_state(const StaticMethod& method) {
  check_owner(method);
  auto& state = methods_[method.index()];
  if (!state) {
    state = std::make_unique<MethodState>(method, workspace_, *metrics_, options_);
    if (method.plan().has_tasks) {
      if (!forks_) forks_ = std::make_shared<Forks>(state_, options_, budget_);
      state->frame.join(forks_.get());
    }
  }
  return *state;
}

c10::IValue StaticRuntime::accept(const StaticMethod& method, int32_t index, c10::IValue value) const {
  const Parameter& parameter = method.parameters()[index];
  if (!(value.isTensor() && parameter.type->kind() == c10::TypeKind::TensorType))
    value = conform(value, parameter.type, input_name(method, index));
  if (const InputSpec* spec = method.spec(index)) check_input(*spec, value, index);
  method.input_check().check(static_cast<size_t>(index), value);
  return value;
}

void StaticRuntime::bind(const StaticMethod& method, int32_t index, c10::IValue value, bool read_only) {
  Turn turn(*this);
  MethodState& state = method_state(method);
  if (index < 0 || index >= static_cast<int32_t>(state.bound.size())) {
    throw Error(ErrorCode::kInvalidArgument, "method \"" + method.name() + "\" has " +
                                                 std::to_string(state.bound.size()) + " inputs, got index " +
                                                 std::to_string(index));
  }
  if (read_only && method.writes_input(index)) {
    throw Error(ErrorCode::kInvalidArgument,
                input_name(method, index) + ": the method writes this input, but the memory is read-only",
                {"", "", "", input_name(method, index)});
  }
  state.same_inputs = false;
  state.bound[index] = accept(method, index, std::move(value));
}

void* StaticRuntime::bind_window(const StaticMethod& method, int32_t index, at::ScalarType dtype,
                                 at::IntArrayRef shape) {
  at::Tensor window = at::detail::empty_cpu(shape, dtype);
  window.zero_();
  void* data = window.data_ptr();
  bind(method, index, std::move(window));
  return data;
}

void StaticRuntime::bind_output(const StaticMethod& method, int32_t index, at::Tensor memory) {
  Turn turn(*this);
  MethodState& state = method_state(method);
  int32_t count = method.output_count();
  if (index < 0 || (count >= 0 && index >= count)) {
    throw Error(ErrorCode::kInvalidArgument, "method \"" + method.name() + "\" has " + std::to_string(count) +
                                                 " output tensors, got index " + std::to_string(index));
  }
  if (at::has_internal_overlap(memory) == at::MemOverlap::Yes)
    throw Error(ErrorCode::kInvalidArgument, "the output's elements share memory: strides overlap");
  auto bound = std::make_unique<BoundOutput>();
  const Plan& plan = state.frame.plan();
  if (plan.fixed_structure && plan.leaves[index] >= 0 && memory.is_contiguous()) {
    bound->buffer.data = memory.data_ptr();
    bound->buffer.capacity = static_cast<int64_t>(memory.nbytes());
  }
  bound->memory = std::move(memory);
  state.same_inputs = false;
  if (state.outputs.size() <= static_cast<size_t>(index)) state.outputs.resize(index + 1);
  state.outputs[index] = std::move(bound);
}

void StaticRuntime::unbind(const StaticMethod* method) {
  Turn turn(*this);
  if (method) check_owner(*method);
  for (size_t i = 0; i < methods_.size(); ++i) {
    if (!methods_[i] || (method && static_cast<size_t>(method->index()) != i)) continue;
    methods_[i]->same_inputs = false;
    methods_[i]->bound.assign(methods_[i]->bound.size(), std::nullopt);
    methods_[i]->outputs.clear();
  }
}

namespace {

bool share_memory(const at::Tensor& a, const at::Tensor& b) {
  if (a.numel() == 0 || b.numel() == 0) return false;
  const auto* a_begin = static_cast<const char*>(a.storage().data());
  const auto* b_begin = static_cast<const char*>(b.storage().data());
  return a_begin < b_begin + b.storage().nbytes() && b_begin < a_begin + a.storage().nbytes();
}

}  // namespace

// A method that writes an input must not meet the same memory in another one, or twice within one.
void StaticRuntime::check_aliasing(const StaticMethod& method, const std::vector<const c10::IValue*>& inputs) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!method.writes_input(static_cast<int32_t>(i)) || !inputs[i] || !inputs[i]->isTensor()) continue;
    const at::Tensor& written = inputs[i]->toTensor();
    std::string place = input_name(method, static_cast<int32_t>(i));
    if (at::has_internal_overlap(written) == at::MemOverlap::Yes) {
      throw Error(ErrorCode::kInvalidArgument, place + ": the method writes this input, but its elements share memory",
                  {"", "", "", place});
    }
    for (size_t j = 0; j < inputs.size(); ++j) {
      if (i == j || !inputs[j] || !inputs[j]->isTensor()) continue;
      if (share_memory(written, inputs[j]->toTensor())) {
        throw Error(ErrorCode::kInvalidArgument,
                    place + ": the method writes this input, but its memory is bound to " +
                        input_name(method, static_cast<int32_t>(j)) + " as well",
                    {"", "", "", place});
      }
    }
  }
}

void StaticRuntime::set_inputs(const StaticMethod& method, MethodState& state,
                               const std::vector<const c10::IValue*>& inputs) {
  bool writes = false;
  for (size_t i = 0; i < inputs.size(); ++i) writes |= method.writes_input(static_cast<int32_t>(i));
  if (writes) check_aliasing(method, inputs);
  method.input_check().check_together(inputs, state.accepted_sizes);
  for (size_t i = 0; i < inputs.size(); ++i) {
    auto index = static_cast<int32_t>(i);
    const c10::IValue& value = *inputs[i];
    if (value.isTensor() && value.toTensor().defined() && method.writes_input(index)) {
      // The elements are the caller's, the shape is not: resize_ and its kin must not reach the tensor that stays bound.
      state.frame.input(index) = value.toTensor().alias();
    } else {
      state.frame.input(index) = value;
    }
  }
}

void StaticRuntime::run(const StaticMethod& method, Arena& arena) {
  take_turn(method, [&] {
    if (run_again(method, arena)) return;
    c10::InferenceMode inference;
    WarningsToLog warnings;
    MethodState& state = set_bound(method);
    run_frame(method, state, arena, true);
    state.same_inputs = state.outputs.empty();
  });
}

namespace {

// The arena's memory is the module's, but while a run fills it, it counts as the runtime's too.
class LentToRun {
 public:
  LentToRun(MemoryBudget& budget, int64_t bytes) : budget_(budget), bytes_(bytes) {
    budget.take_here(bytes, "results");
  }
  ~LentToRun() { budget_.give_back_here(bytes_); }
  LentToRun(const LentToRun&) = delete;
  LentToRun& operator=(const LentToRun&) = delete;

 private:
  MemoryBudget& budget_;
  const int64_t bytes_;
};

}  // namespace

// The short way: a plan of kernels alone, on the inputs of the last run. LibTorch is asked for nothing but its threads, where work is shared.
bool StaticRuntime::run_again(const StaticMethod& method, Arena& arena) {
  check_owner(method);
  MethodState* state = methods_[method.index()].get();
  if (!state || !state->same_inputs || !state->signatures || recording_ || arena.module() != module_) return false;
  BoundFrame* bound = state->signatures->only_kernels();
  // State counts against limits, which takes longer.
  const bool limited = budget_->limited();
  if (!bound || (limited && !state_->slots.empty())) return false;
  Frame& frame = state->frame;
  ArenaContents& contents = arena.begin_again(frame.plan(), bound->plan());
  bool done = false;
  try {
    frame.place(contents);
    std::optional<LentToRun> results;
    if (limited) results.emplace(*budget_, contents.block.bytes());
    std::optional<IntraOpThreads> threads;
    if (bound->plan().shares_work) threads.emplace(options_.intra_op_threads);
    done = bound->prepare_again(workspace_) && bound->run_kernels();
    if (done) {
      if (contents.outputs.empty()) {
        bound->put(bound->steps().back());
        c10::IValue& result = frame.slot(frame.plan().outputs[0]);
        contents.outputs.push_back(result.toTensor());
        contents.result = std::move(result);
        contents.result_of = bound->plan().number;
      }
      metrics_->plan_hit();
      arena.finish();
    } else {
      arena.abandon();
    }
  } catch (...) {
    arena.abandon();
    frame.clear();
    throw;
  }
  frame.forget_arena();
  return done;
}

// Puts what is bound into the frame. In inference mode, as the next.
StaticRuntime::MethodState& StaticRuntime::set_bound(const StaticMethod& method) {
  MethodState& state = method_state(method);
  auto& inputs = state.inputs;
  inputs.resize(state.bound.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (state.bound[i]) {
      inputs[i] = &*state.bound[i];
    } else if (method.parameters()[i].default_value) {
      inputs[i] = &*method.parameters()[i].default_value;
    } else {
      std::string place = input_name(method, static_cast<int32_t>(i));
      throw Error(ErrorCode::kInputMissing, place + " of method \"" + method.name() + "\" is not bound",
                  {"", "", "", place});
    }
  }
  for (size_t o = 0; o < state.outputs.size(); ++o) {
    for (size_t i = 0; state.outputs[o] && i < inputs.size(); ++i) {
      if (!inputs[i]->isTensor() || !share_memory(state.outputs[o]->memory, inputs[i]->toTensor())) continue;
      throw Error(ErrorCode::kInvalidArgument, "output " + std::to_string(o) + " of method \"" + method.name() +
                                                   "\": its memory overlaps that of " +
                                                   input_name(method, static_cast<int32_t>(i)));
    }
  }
  set_inputs(method, state, inputs);
  return state;
}

void StaticRuntime::call(const StaticMethod& method, const std::vector<c10::IValue>& args,
                         const std::vector<std::pair<std::string, c10::IValue>>& kwargs, Arena& arena) {
  take_turn(method, [&] {
    c10::InferenceMode inference;
    MethodState& state = set_arguments(method, args, kwargs);
    state.same_inputs = false;
    run_frame(method, state, arena, false);
  });
}

StaticRuntime::MethodState& StaticRuntime::set_arguments(
    const StaticMethod& method, const std::vector<c10::IValue>& args,
    const std::vector<std::pair<std::string, c10::IValue>>& kwargs) {
  MethodState& state = method_state(method);
  const auto& parameters = method.parameters();
  if (args.size() > parameters.size()) {
    throw Error(ErrorCode::kInvalidArgument, "method \"" + method.name() + "\" takes " +
                                                 std::to_string(parameters.size()) + " arguments, got " +
                                                 std::to_string(args.size()));
  }
  std::vector<std::optional<c10::IValue>> given(parameters.size());
  for (size_t i = 0; i < args.size(); ++i) given[i] = accept(method, static_cast<int32_t>(i), args[i]);
  for (auto& [name, value] : kwargs) {
    size_t i = 0;
    while (i < parameters.size() && parameters[i].name != name) ++i;
    if (i == parameters.size())
      throw Error(ErrorCode::kInvalidArgument, "method \"" + method.name() + "\" has no argument \"" + name + "\"");
    if (given[i])
      throw Error(ErrorCode::kInvalidArgument, input_name(method, static_cast<int32_t>(i)) + " is given twice");
    given[i] = accept(method, static_cast<int32_t>(i), value);
  }
  std::vector<const c10::IValue*> inputs(parameters.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!given[i]) given[i] = parameters[i].default_value;
    if (!given[i]) {
      std::string place = input_name(method, static_cast<int32_t>(i));
      throw Error(ErrorCode::kInputMissing, place + " of method \"" + method.name() + "\" is missing",
                  {"", "", "", place});
    }
    inputs[i] = &*given[i];
  }
  set_inputs(method, state, inputs);
  return state;
}

StaticRuntime::Pending::Pending(StaticRuntime& runtime, const StaticMethod& method, Arena& arena)
    : runtime_(runtime), method_(method), arena_(arena), turn_(std::make_unique<Turn>(runtime)) {}

StaticRuntime::Pending::~Pending() {
  if (state_) state_->frame.clear();
}

void StaticRuntime::Pending::run() {
  runtime_.count_failures([this] {
    runtime_.time_run(method_, [this] {
      c10::InferenceMode inference;
      runtime_.run_frame(method_, *state_, arena_, bound_);
    });
  });
}

std::unique_ptr<StaticRuntime::Pending> StaticRuntime::prepare_run(const StaticMethod& method, Arena& arena) {
  auto pending = std::make_unique<Pending>(*this, method, arena);
  c10::InferenceMode inference;
  pending->state_ = &set_bound(method);
  pending->state_->same_inputs = false;
  pending->bound_ = true;
  return pending;
}

std::unique_ptr<StaticRuntime::Pending> StaticRuntime::prepare_call(
    const StaticMethod& method, const std::vector<c10::IValue>& args,
    const std::vector<std::pair<std::string, c10::IValue>>& kwargs, Arena& arena) {
  auto pending = std::make_unique<Pending>(*this, method, arena);
  c10::InferenceMode inference;
  pending->state_ = &set_arguments(method, args, kwargs);
  pending->state_->same_inputs = false;
  return pending;
}

void StaticRuntime::run_frame(const StaticMethod& method, MethodState& state, Arena& arena, bool bound_outputs) {
  try {
    run_placed(method, state, arena, bound_outputs);
  } catch (const Error& error) {
    // Sizes that only a run over the limit has shown must not be planned for in the next ones.
    if (error.code == ErrorCode::kMemoryLimit) state.frame.plan().forget_sizes();
    throw;
  }
}

void StaticRuntime::run_placed(const StaticMethod& method, MethodState& state, Arena& arena, bool bound_outputs) {
  Frame& frame = state.frame;
  struct Cleared {
    Frame& frame;
    ~Cleared() { frame.clear(); }
  } cleared{frame};
  if (arena.module() != module_)
    throw Error(ErrorCode::kInvalidArgument, "the arena is of another module than the runtime");
  ArenaContents& contents = arena.begin(frame.plan());
  try {
    frame.place(contents);
    const LentToRun results(*budget_, contents.block.bytes());
    frame.watch(recording_ ? &recording_->of(frame.plan(), method.index()) : nullptr);
    if (bound_outputs) {
      for (size_t i = 0; i < state.outputs.size(); ++i) {
        if (!state.outputs[i] || !state.outputs[i]->buffer.data) continue;
        frame.place_output(frame.plan().leaves[i], &state.outputs[i]->buffer);
        contents.lent.push_back(&state.outputs[i]->buffer);
      }
    }
    IntraOpThreads threads(options_.intra_op_threads);
    // Held until the result is safe: it may share memory with the state that another run is waiting to write.
    std::unique_lock<std::mutex> lock;
    if (options_.state == StateSharing::kShared) lock = std::unique_lock(state_->mutex);
    const LentInputs inputs(frame, *state_);
    TasksOfRun tasks(frame.forks());
    std::optional<RunMemory> memory;
    if (budget_->limited()) memory.emplace(budget_, frame, workspace_, *state_);
    if (state.signatures) {
      state.signatures->run(*state_);
    } else {
      frame.place(workspace_);
      execute(frame, *state_);
    }
    metrics_->set_workspace_bytes(workspace_.bytes() + (forks_ ? forks_->workspace_bytes() : 0));
    const auto& outputs = frame.plan().outputs;
    c10::IValue result = outputs.empty() ? c10::IValue() : frame.slot(outputs[0]);
    frame.clear();
    tasks.finish();
    keep_result(std::move(result), workspace_, contents);
    if (bound_outputs) fill_outputs(method, state, contents);
#ifndef NDEBUG
    frame.check_for_leaks();
#endif
    memory.reset();
    arena.finish();
  } catch (...) {
    arena.abandon();
    throw;
  }
}

// Copies what was not computed in place, and checks that the caller expected this result.
void StaticRuntime::fill_outputs(const StaticMethod& method, MethodState& state, ArenaContents& contents) {
  for (size_t i = 0; i < state.outputs.size(); ++i) {
    if (!state.outputs[i]) continue;
    const at::Tensor& memory = state.outputs[i]->memory;
    std::string place = "output " + std::to_string(i) + " of method \"" + method.name() + "\"";
    if (i >= contents.outputs.size())
      throw Error(ErrorCode::kShapeMismatch,
                  place + ": the result holds " + std::to_string(contents.outputs.size()) + " tensors");
    at::Tensor& result = contents.outputs[i];
    if (result.scalar_type() != memory.scalar_type() || result.sizes() != memory.sizes()) {
      auto code = result.scalar_type() != memory.scalar_type() ? ErrorCode::kDtypeMismatch : ErrorCode::kShapeMismatch;
      throw Error(
          code,
          place + ": the memory bound is " + describe_tensor(memory) + ", the result is " + describe_tensor(result),
          {"", "", "", place});
    }
    if (result.const_data_ptr() != memory.const_data_ptr()) memory.copy_(result);
  }
}

}  // namespace stator
