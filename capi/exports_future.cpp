// Asynchronous runs: futures, and the queues that they go into when they are done.
#include "graph/log.h"
#include "guard.h"
#include "handles.h"
#include "values.h"

using namespace stator;
using namespace stator::capi;

namespace {

using Phase = stator_future::Phase;

// Takes the reference over. The runtime is free, and what the run needed is released, before anyone learns that the future is done.
void finish(Owned<stator_future> future, std::unique_ptr<StaticRuntime::Pending> run, Owned<stator_value> result,
            std::exception_ptr error) {
  run.reset();
  future->held.clear();
  future->result = std::move(result);
  future->error = std::move(error);
  const Owned<stator_queue> queue = std::move(future->queue);
  const std::shared_ptr<stator_future::Progress> progress = future->progress;
  if (!queue) future.reset();
  {
    std::lock_guard lock(progress->mutex);
    progress->phase = Phase::kDone;
    progress->changed.notify_all();
  }
  if (queue) queue->events.push(future.release());
}

// The run, for the one who begins or cancels it; NULL for all others.
std::unique_ptr<StaticRuntime::Pending> take(stator_future& future) {
  std::lock_guard lock(future.progress->mutex);
  if (future.progress->phase != Phase::kWaiting) return nullptr;
  future.progress->phase = Phase::kRunning;
  return std::move(future.run);
}

void run_now(Owned<stator_future> future) {
  auto run = take(*future);
  if (!run) return;
  WarningsToLog warnings;
  Owned<stator_value> result;
  std::exception_ptr error;
  try {
    run->run();
    const Arena& arena = future->arena->arena;
    result.reset(make_value(arena.result(), arena.lease()).release());
  } catch (...) {
    error = std::current_exception();
  }
  finish(std::move(future), std::move(run), std::move(result), std::move(error));
}

bool cancel(stator_future* future, ErrorCode code, const char* why) {
  auto run = take(*future);
  if (!run) return false;
  finish(share(future), std::move(run), {}, std::make_exception_ptr(Error(code, why)));
  return true;
}

bool is_done(const stator_future* future) {
  std::lock_guard lock(future->progress->mutex);
  return future->progress->phase == Phase::kDone;
}

template <class T>
Held hold(T* handle) {
  return Held(share(handle).release(), [](const T* kept) { release(kept); });
}

template <class Prepare>
void start(stator_runtime* runtime, const stator_method* method, stator_arena* arena, stator_queue* queue, int64_t tag,
           stator_future** out, std::vector<Held> held, const Prepare& prepare) {
  require_handle(runtime, "runtime");
  require_handle(method, "method");
  require_handle(arena, "arena");
  require_handle(out, "out");
  Owned<stator_future> future(new stator_future);
  held.insert(held.end(), {hold(runtime), hold(arena)});
  if (runtime->lender) held.push_back(hold(runtime->lender));  // behind the runtime, which it owns
  future->tag = tag;
  future->arena = arena;
  future->held = std::move(held);
  future->run = prepare();
  future->queue = share(queue);
  stator_future* running = share(future.get()).release();
  if (!runtime->runtime->launcher().launch([running] { run_now(Owned<stator_future>(running)); })) {
    release(running);
    throw Error(ErrorCode::kOutOfMemory, "the system gives no thread for an asynchronous run");
  }
  *out = future.release();
}

}  // namespace

stator_status* stator_runtime_run_async(stator_runtime* runtime, const stator_method* method, stator_arena* arena,
                                        stator_queue* queue, int64_t tag, stator_future** out) {
  return guarded([&] {
    start(runtime, method, arena, queue, tag, out, {},
          [&] { return runtime->runtime->prepare_run(as_method(method), arena->arena); });
  });
}

stator_status* stator_runtime_call_async(stator_runtime* runtime, const stator_method* method, const stator_value* args,
                                         const stator_value* kwargs, stator_arena* arena, stator_queue* queue,
                                         int64_t tag, stator_future** out) {
  return guarded([&] {
    start(runtime, method, arena, queue, tag, out, {hold(args), hold(kwargs)}, [&] {
      const Arguments arguments = read_arguments(args, kwargs);
      return runtime->runtime->prepare_call(as_method(method), arguments.positional, arguments.named, arena->arena);
    });
  });
}

void stator_future_retain(stator_future* future) { retain(future); }

void stator_future_release(stator_future* future) { release(future); }

stator_status* stator_future_wait(stator_future* future, int64_t timeout_ns) {
  return guarded([&] {
    require_handle(future, "future");
    require(timeout_ns >= -1, "timeout_ns", "must be 0, positive, or -1 to wait without end");
    stator_future::Progress& progress = *future->progress;
    std::unique_lock lock(progress.mutex);
    if (!wait_for(progress.changed, lock, timeout_ns, [&] { return progress.phase == Phase::kDone; }))
      throw Error(ErrorCode::kTimeout, "the run did not end in " + std::to_string(timeout_ns) + " ns");
  });
}

int32_t stator_future_done(const stator_future* future) { return future && is_done(future) ? 1 : 0; }

stator_status* stator_future_result(const stator_future* future, stator_value** out) {
  return guarded([&] {
    require_handle(future, "future");
    require_handle(out, "out");
    if (!is_done(future)) throw Error(ErrorCode::kBusy, "the run has not ended: wait for it first");
    if (future->error) std::rethrow_exception(future->error);
    *out = share(future->result.get()).release();
  });
}

int32_t stator_future_cancel(stator_future* future) {
  return future && cancel(future, ErrorCode::kCancelled, "the run was cancelled before it began") ? 1 : 0;
}

int64_t stator_future_tag(const stator_future* future) { return future ? future->tag : 0; }

stator_status* stator_queue_create(stator_queue** out) {
  return guarded([&] {
    require_handle(out, "out");
    *out = new stator_queue;
  });
}

void stator_queue_retain(stator_queue* queue) { retain(queue); }

void stator_queue_release(stator_queue* queue) { release(queue); }

stator_status* stator_queue_next(stator_queue* queue, int64_t timeout_ns, stator_future** out) {
  return guarded([&] {
    require_handle(queue, "queue");
    require_handle(out, "out");
    require(timeout_ns >= -1, "timeout_ns", "must be 0, positive, or -1 to wait without end");
    auto future = queue->events.next(timeout_ns);
    if (!future) throw Error(ErrorCode::kTimeout, "no run of the queue ended in " + std::to_string(timeout_ns) + " ns");
    *out = *future;
  });
}

int32_t stator_queue_fd(const stator_queue* queue) { return queue ? queue->events.fd() : -1; }
