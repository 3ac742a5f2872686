// Forks: the tasks that the runs of one runtime fork.
//
// A task is claimed once, by whoever comes first: a helper (a thread of the launcher), or a thread that waits for it. A waiting thread runs
// the awaited task or, if that has begun elsewhere, sleeps; it never runs another. So every task that has begun waits only for what its
// own code waits for, and any number of threads, also none but the caller's, get to the end.
//
// Nothing outlives the run: when it is over, tasks that have not begun are run (the interpreter would have run them, and they may write
// state) or, if the run failed, cancelled; those under way are waited for. Errors that nobody waited for are dropped.
//
// Helpers hold on to Forks, which may therefore outlive its runtime; it then has no tasks.
#pragma once

#include <ATen/core/ivalue.h>

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "memory/block.h"
#include "runtime/frame.h"
#include "runtime/module.h"
#include "runtime/options.h"

namespace stator {

class Forks : public std::enable_shared_from_this<Forks> {
 public:
  Forks(std::shared_ptr<State> state, const RuntimeOptions& options, std::shared_ptr<MemoryBudget> budget);

  // Any thread of the run. `type` is that of the future.
  c10::IValue fork(const Plan& plan, std::vector<c10::IValue> arguments, const c10::TypePtr& type);
  // The value of a future, or its exception. The future may also come from elsewhere.
  c10::IValue wait(c10::ivalue::Future& future);
  // Tasks that code not of ours may wait for, and would without end, have begun when this returns.
  void begin_all_in(const c10::IValue& value);

  // The run is over: afterwards there are no tasks.
  void end(bool failed);

  // Held where tasks of one run read or write slots of its state.
  std::unique_lock<std::mutex> lock_state() { return std::unique_lock(state_mutex_); }
  int64_t workspace_bytes();
  // Between runs: gives back the memory kept for tasks.
  void trim();

 private:
  using Future = c10::ivalue::Future;
  struct Task {
    const Plan* plan;
    std::vector<c10::IValue> arguments;
    c10::intrusive_ptr<Future> future;
  };
  // A frame for one task at a time, kept for the next.
  struct TaskFrame {
    TaskFrame(const Plan& plan, Forks& forks) : workspace(forks.budget_), frame(plan) { frame.join(&forks); }
    MemoryBlock workspace;
    Frame frame;
  };
  class Borrowed;

  void offer(const Future* future);
  void help();
  std::unique_ptr<Task> claim(const Future* future);
  std::unique_ptr<Task> claim_first(bool as_helper);
  std::unique_ptr<Task> take(std::list<Task>::iterator place);
  void run(Task task) noexcept;
  c10::IValue run_plan(Task& task);
  void cancel(std::list<Task> tasks);

  const std::shared_ptr<State> state_;
  const int intra_op_threads_;
  const int most_helpers_;
  const Launcher launcher_;
  const std::shared_ptr<MemoryBudget> budget_;
  std::mutex state_mutex_;

  std::mutex mutex_;  // for all that follows
  std::condition_variable quiet_;
  std::list<Task> waiting_;  // not begun, oldest first
  std::unordered_map<const Future*, std::list<Task>::iterator> by_future_;
  int running_ = 0;
  int helpers_ = 0;
  bool failed_ = false;  // helpers take nothing any more
  std::unordered_map<const Plan*, std::vector<std::unique_ptr<TaskFrame>>> idle_frames_;
  int64_t workspace_bytes_ = 0;
};

// The tasks of one run: they end when it does, one way or the other.
class TasksOfRun {
 public:
  explicit TasksOfRun(Forks* forks) : forks_(forks) {}  // NULL: the run has none
  ~TasksOfRun() {
    if (forks_) forks_->end(true);
  }
  TasksOfRun(const TasksOfRun&) = delete;
  TasksOfRun& operator=(const TasksOfRun&) = delete;

  // The run has succeeded.
  void finish() {
    if (forks_) std::exchange(forks_, nullptr)->end(false);
  }

 private:
  Forks* forks_;
};

}  // namespace stator
