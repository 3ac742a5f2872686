// Pools.
#include "guard.h"
#include "handles.h"
#include "options.h"
#include "values.h"

using namespace stator;
using namespace stator::capi;

namespace {

void give_back(stator_pool* pool, stator_runtime* runtime) noexcept {
  runtime->lent.store(false, std::memory_order_release);
  pool->metrics->lent.fetch_sub(1, std::memory_order_relaxed);
  pool->pool->give_back(runtime->index);
  release(pool);
}

stator_runtime* acquire(stator_pool* pool, int64_t timeout_ns) {
  require(timeout_ns >= -1, "timeout_ns", "must be 0, positive, or -1 to wait without end");
  stator_runtime* runtime = pool->pool->acquire(timeout_ns);
  if (!runtime) {
    pool->metrics->refused.fetch_add(1, std::memory_order_relaxed);
    if (timeout_ns == 0) throw Error(ErrorCode::kBusy, "all runtimes of the pool are lent");
    throw Error(ErrorCode::kTimeout, "no runtime of the pool became free in " + std::to_string(timeout_ns) + " ns");
  }
  runtime->lent.store(true, std::memory_order_release);
  pool->metrics->lent.fetch_add(1, std::memory_order_relaxed);
  retain(pool);  // a lent runtime keeps its pool
  return runtime;
}

}  // namespace

stator_status* stator_pool_create(stator_module* module, const stator_options* options, stator_pool** out) {
  return guarded([&] {
    require_handle(module, "module");
    require_handle(out, "out");
    PoolOptions settings = pool_options(options);
    if (module->module->stateful() && settings.runtime.state == StateSharing::kUnset) {
      throw Error(ErrorCode::kInvalidArgument,
                  "the module has state (\"" + module->module->state_slots()[0].name +
                      "\"): set the option \"state\" to \"private\" (each runtime has its own) or \"shared\"");
    }
    auto handle = std::make_unique<stator_pool>();
    handle->module = module->module;
    handle->metrics->module = module->module;
    handle->metrics->limit = settings.max_runtimes;
    auto make = [pool = handle.get(), settings](int32_t index) {
      auto runtime = std::make_unique<stator_runtime>();
      runtime->runtime = std::make_unique<StaticRuntime>(pool->module, settings.runtime);
      pool->metrics->runs.join(runtime->runtime->metrics());
      runtime->lender = pool;
      runtime->index = index;
      return runtime;
    };
    handle->pool = std::make_unique<LendingPool<stator_runtime>>(settings.max_runtimes, std::move(make));
    add_to_metrics(std::shared_ptr<const PoolMetrics>(handle->metrics));
    *out = handle.release();
  });
}

void stator_pool_retain(stator_pool* pool) { retain(pool); }

void stator_pool_release(stator_pool* pool) { release(pool); }

stator_status* stator_pool_acquire(stator_pool* pool, int64_t timeout_ns, stator_runtime** out) {
  return guarded([&] {
    require_handle(pool, "pool");
    require_handle(out, "out");
    *out = acquire(pool, timeout_ns);
  });
}

stator_status* stator_pool_return(stator_pool* pool, stator_runtime* runtime) {
  return guarded([&] {
    require_handle(pool, "pool");
    require_handle(runtime, "runtime");
    if (runtime->lender != pool || !runtime->lent.load(std::memory_order_acquire)) {
      throw Error(ErrorCode::kInvalidArgument, "the runtime is not lent by this pool", {"", "", "", "runtime"});
    }
    runtime->runtime->unbind(nullptr);
    give_back(pool, runtime);
  });
}

stator_status* stator_pool_call(stator_pool* pool, int64_t timeout_ns, const stator_method* method,
                                const stator_value* args, const stator_value* kwargs, stator_arena* arena,
                                stator_value** out) {
  return guarded([&] {
    require_handle(pool, "pool");
    require_handle(method, "method");
    require_handle(arena, "arena");
    require_handle(out, "out");
    Retained<stator_arena> keep_arena(arena);
    struct Lent {
      stator_pool* pool;
      stator_runtime* runtime;
      ~Lent() { give_back(pool, runtime); }
    } lent{pool, acquire(pool, timeout_ns)};
    *out = call(*lent.runtime->runtime, as_method(method), args, kwargs, arena->arena).release();
  });
}

stator_status* stator_pool_trim(stator_pool* pool) {
  return guarded([&] {
    require_handle(pool, "pool");
    std::vector<stator_runtime*> idle;  // all at once: one given back would be the next taken
    while (stator_runtime* runtime = pool->pool->take_idle()) idle.push_back(runtime);
    for (stator_runtime* runtime : idle) {
      runtime->runtime->trim();
      pool->pool->give_back(runtime->index);
    }
  });
}

int32_t stator_pool_runtime_count(const stator_pool* pool) { return pool ? pool->pool->made() : 0; }
