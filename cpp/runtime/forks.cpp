#include "runtime/forks.h"

#include <c10/core/InferenceMode.h>

#include <utility>

#include "graph/error.h"
#include "graph/log.h"
#include "ops/threads.h"
#include "runtime/execute.h"
#include "runtime/run_memory.h"
#include "runtime/thread_pool.h"

namespace stator {

Forks::Forks(std::shared_ptr<State> state, const RuntimeOptions& options, std::shared_ptr<MemoryBudget> budget)
    : state_(std::move(state)),
      intra_op_threads_(options.intra_op_threads),
      most_helpers_(options.inter_op_threads),
      launcher_(options.launcher),
      budget_(std::move(budget)) {
  if (!launcher_) ThreadPool::process().allow(most_helpers_);
}

c10::IValue Forks::fork(const Plan& plan, std::vector<c10::IValue> arguments, const c10::TypePtr& type) {
  auto future = c10::make_intrusive<Future>(type->expectRef<c10::FutureType>().getElementType());
  {
    std::lock_guard lock(mutex_);
    waiting_.push_back({&plan, std::move(arguments), future});
    by_future_.emplace(future.get(), std::prev(waiting_.end()));
  }
  offer(future.get());
  return future;
}

// A callback gets each task by itself, because it may run it at once, in the midst of another. Threads of our own have nothing else under
// way, so they go on with what they find.
void Forks::offer(const Future* future) {
  if (launcher_) {
    launcher_.launch([self = shared_from_this(), future] {
      WarningsToLog warnings;
      if (auto task = self->claim(future)) self->run(std::move(*task));
    });
    return;
  }
  {
    std::lock_guard lock(mutex_);
    if (helpers_ >= most_helpers_) return;
    ++helpers_;
  }
  if (launcher_.launch([self = shared_from_this()] { self->help(); })) return;
  std::lock_guard lock(mutex_);
  --helpers_;
}

void Forks::help() {
  WarningsToLog warnings;
  while (auto task = claim_first(true)) run(std::move(*task));
}

// With the mutex held.
std::unique_ptr<Forks::Task> Forks::take(std::list<Task>::iterator place) {
  auto task = std::make_unique<Task>(std::move(*place));
  by_future_.erase(task->future.get());
  waiting_.erase(place);
  ++running_;
  return task;
}

// NULL if it has begun, or was never ours.
std::unique_ptr<Forks::Task> Forks::claim(const Future* future) {
  std::lock_guard lock(mutex_);
  auto found = by_future_.find(future);
  return found == by_future_.end() ? nullptr : take(found->second);
}

std::unique_ptr<Forks::Task> Forks::claim_first(bool as_helper) {
  std::lock_guard lock(mutex_);
  if (!waiting_.empty() && !(as_helper && failed_)) return take(waiting_.begin());
  if (as_helper) --helpers_;
  return nullptr;
}

c10::IValue Forks::wait(Future& future) {
  if (!future.completed()) {
    if (auto task = claim(&future)) {
      run(std::move(*task));
    } else {
      future.wait();
    }
  }
  try {
    return future.value();
  } catch (const Error& error) {
    throw Error(error);  // one of its own for each that waits: the place is filled in on the way
  }
}

void Forks::begin_all_in(const c10::IValue& value) {
  value.visit([this](const c10::IValue& inner) {
    if (!inner.isFuture()) return false;
    if (auto task = claim(inner.toFuture().get())) run(std::move(*task));
    return false;
  });
}

void Forks::end(bool failed) {
  std::unique_lock lock(mutex_);
  failed_ = failed;
  while (running_ > 0 || !waiting_.empty()) {
    if (!failed && !waiting_.empty()) {
      auto task = take(waiting_.begin());
      lock.unlock();
      run(std::move(*task));
      lock.lock();
    } else if (running_ > 0) {
      // Those under way may still wait for some that have not begun, and fork others.
      quiet_.wait(lock, [this] { return running_ == 0; });
    } else {
      by_future_.clear();
      std::list<Task> rest = std::exchange(waiting_, {});
      lock.unlock();
      cancel(std::move(rest));
      lock.lock();
    }
  }
  failed_ = false;
}

// State may hold such futures.
void Forks::cancel(std::list<Task> tasks) {
  for (Task& task : tasks) {
    task.future->setError(std::make_exception_ptr(
        Error(ErrorCode::kCancelled, "the run that forked this task failed before the task had begun")));
  }
}

int64_t Forks::workspace_bytes() {
  std::lock_guard lock(mutex_);
  return workspace_bytes_;
}

void Forks::trim() {
  std::lock_guard lock(mutex_);
  idle_frames_.clear();
  workspace_bytes_ = 0;
}

class Forks::Borrowed {
 public:
  Borrowed(Forks& forks, const Plan& plan) : forks_(forks), plan_(plan) {
    std::lock_guard lock(forks.mutex_);
    auto& idle = forks.idle_frames_[&plan];
    if (idle.empty()) {
      frame_ = std::make_unique<TaskFrame>(plan, forks);
    } else {
      frame_ = std::move(idle.back());
      idle.pop_back();
      forks.workspace_bytes_ -= frame_->workspace.bytes();
    }
  }
  ~Borrowed() {
    frame_->frame.clear();
    std::lock_guard lock(forks_.mutex_);
    forks_.workspace_bytes_ += frame_->workspace.bytes();
    forks_.idle_frames_[&plan_].push_back(std::move(frame_));
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;

  TaskFrame* operator->() const { return frame_.get(); }

 private:
  Forks& forks_;
  const Plan& plan_;
  std::unique_ptr<TaskFrame> frame_;
};

c10::IValue Forks::run_plan(Task& task) {
  c10::InferenceMode inference;
  IntraOpThreads threads(intra_op_threads_);
  Borrowed borrowed(*this, *task.plan);
  Frame& frame = borrowed->frame;
  frame.place(borrowed->workspace);
  for (size_t i = 0; i < task.arguments.size(); ++i)
    frame.input(static_cast<int32_t>(i)) = std::move(task.arguments[i]);
  std::optional<RunMemory> memory;
  if (budget_->limited()) memory.emplace(budget_, frame, borrowed->workspace, *state_);
  execute(frame, *state_);
  return frame.slot(task.plan->outputs[0]);
}

void Forks::run(Task task) noexcept {
  try {
    task.future->markCompleted(run_plan(task));
  } catch (...) {
    task.future->setError(std::current_exception());
  }
  task.arguments.clear();
  task.future.reset();
  std::lock_guard lock(mutex_);
  if (--running_ == 0) quiet_.notify_all();
}

}  // namespace stator
