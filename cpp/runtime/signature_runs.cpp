#include "runtime/signature_runs.h"

#include <algorithm>

#include "graph/error.h"
#include "graph/log.h"
#include "runtime/execute.h"

namespace stator {

SignatureRuns::SignatureRuns(Frame& frame, MemoryBlock& workspace, const StaticMethod& method, RunMetrics& metrics,
                             const RuntimeOptions& options)
    : frame_(frame),
      workspace_(workspace),
      cache_(*method.signatures()),
      metrics_(metrics),
      threads_(options.intra_op_threads),
      warms_up_(options.warms_up),
      strict_(method.strict() && !options.warms_up) {
  for (const Instruction& instruction : frame.plan().code) {
    if (instruction.kind == InstructionKind::kLoadState) state_read_.push_back(instruction.index);
  }
  std::sort(state_read_.begin(), state_read_.end());
  state_read_.erase(std::unique(state_read_.begin(), state_read_.end()), state_read_.end());
}

void SignatureRuns::run(State& state) {
  only_kernels_ = nullptr;
  const RunValues values{frame_.inputs(), state.slots, state_read_, threads_};
  if (BoundFrame* bound = kept(values)) return run_bound(*bound, state);
  InputSignature signature(values);
  if (strict_) return run_strict(signature, state);
  SignatureCache::Found found = warms_up_ ? cache_.find_at_once(signature) : cache_.find(signature);
  if (found.plan) {
    run_bound(keep(std::move(found.plan)), state);
  } else if (found.make) {
    run_recorded(std::move(signature), state, found.later);
  } else {
    const Ticks start = ticks();
    run_dynamic(state);
    if (const auto waiting = cache_.took(signature, ticks() - start)) make_plan(waiting->signature, waiting->recording);
  }
}

void SignatureRuns::run_strict(const InputSignature& signature, State& state) {
  std::shared_ptr<const SignaturePlan> plan = cache_.find_made(signature);
  if (!plan)
    throw Error(ErrorCode::kShapeMismatch,
                "strict mode: no plan was made at load for inputs that lie so in memory: bind contiguous ones");
  run_bound(keep(std::move(plan)), state);
}

void SignatureRuns::run_dynamic(State& state) {
  metrics_.plan_miss();
  frame_.place(workspace_);
  execute(frame_, state);
}

BoundFrame* SignatureRuns::kept(const RunValues& values) {
  const size_t place = table_.find(values);
  return place == SignatureTable::kNone ? nullptr : frames_[place].get();
}

BoundFrame& SignatureRuns::keep(std::shared_ptr<const SignaturePlan> plan) {
  auto frame = std::make_unique<BoundFrame>(std::move(plan), frame_);
  frames_.reserve(kMostFrames);  // or the table could be left with a signature that is gone
  const size_t place = table_.insert(frame->plan().signature);
  if (place == frames_.size()) frames_.emplace_back();
  frames_[place] = std::move(frame);
  return *frames_[place];
}

void SignatureRuns::run_bound(BoundFrame& bound, State& state) {
  if (!bound.prepare(workspace_)) {
    if (strict_) throw Error(ErrorCode::kShapeMismatch, "strict mode: the memory bound to an output is too small");
    return run_dynamic(state);
  }
  struct Cleared {
    BoundFrame& bound;
    ~Cleared() { bound.clear(); }
  } cleared{bound};
  metrics_.plan_hit();
  execute(bound, frame_, state);
  if (bound.plan().only_kernels && state_read_.empty()) only_kernels_ = &bound;
}

void SignatureRuns::run_recorded(InputSignature signature, State& state, bool later) {
  metrics_.plan_miss();
  frame_.place(workspace_);
  Recording recording;
  try {
    execute(frame_, state, recording);
  } catch (...) {
    cache_.give_up(signature);
    throw;
  }
  // Larger ones would take memory that nobody counts.
  constexpr size_t kMostStepsKept = 1024;
  if (later && recording.steps.size() <= kMostStepsKept)
    return cache_.wait({std::move(signature), std::move(recording)});
  make_plan(signature, recording);
}

void SignatureRuns::make_plan(const InputSignature& signature, const Recording& recording) {
  const Ticks start = ticks();
  try {
    auto plan = make_signature_plan(frame_.plan(), signature, recording, cache_.packed());
    cache_.add(std::move(plan), ticks() - start);
    metrics_.plan_built();
  } catch (const std::exception& error) {
    // The run itself went well.
    const auto* ours = dynamic_cast<const Error*>(&error);
    ours && ours->code == ErrorCode::kMemoryLimit ? cache_.refuse_all(signature) : cache_.refuse(signature);
    log(LogLevel::kWarning, std::string("no plan could be made for a signature: ") + error.what());
  }
}

}  // namespace stator
