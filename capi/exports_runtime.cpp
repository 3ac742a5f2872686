// Runtimes: binding and running.
#include "graph/log.h"
#include "guard.h"
#include "handles.h"
#include "options.h"
#include "tensors.h"
#include "values.h"

using namespace stator;
using namespace stator::capi;

stator_status* stator_runtime_create(stator_module* module, const stator_options* options, stator_runtime** out) {
  return guarded([&] {
    require_handle(module, "module");
    require_handle(out, "out");
    auto handle = std::make_unique<stator_runtime>();
    handle->runtime = std::make_unique<StaticRuntime>(module->module, runtime_options(options));
    *out = handle.release();
  });
}

stator_status* stator_runtime_clone(stator_runtime* runtime, stator_runtime** out) {
  return guarded([&] {
    require_handle(runtime, "runtime");
    require_handle(out, "out");
    auto handle = std::make_unique<stator_runtime>();
    handle->runtime = runtime->runtime->clone();
    *out = handle.release();
  });
}

stator_status* stator_runtime_reset_state(stator_runtime* runtime) {
  return guarded([&] {
    require_handle(runtime, "runtime");
    runtime->runtime->reset_state();
  });
}

stator_status* stator_runtime_trim(stator_runtime* runtime) {
  return guarded([&] {
    require_handle(runtime, "runtime");
    runtime->runtime->trim();
  });
}

void stator_runtime_retain(stator_runtime* runtime) { retain(runtime); }

void stator_runtime_release(stator_runtime* runtime) { release(runtime); }

stator_status* stator_runtime_bind(stator_runtime* runtime, const stator_method* method, int32_t index, void* data,
                                   int32_t dtype, int32_t device, int32_t ndim, const int64_t* shape,
                                   const int64_t* strides) {
  return guarded([&] {
    require_handle(runtime, "runtime");
    require_handle(method, "method");
    runtime->runtime->bind(as_method(method), index, borrow_tensor({data, dtype, device, ndim, shape, strides}));
  });
}

stator_status* stator_runtime_bind_dlpack(stator_runtime* runtime, const stator_method* method, int32_t index,
                                          DLManagedTensorVersioned* tensor) {
  return guarded([&] {
    require_handle(runtime, "runtime");
    require_handle(method, "method");
    require_handle(tensor, "tensor");
    // After an error the caller owns the tensor, so it is bound under a deleter that can be called off.
    bool read_only = false;
    auto owned = std::make_shared<bool>(false);
    at::Tensor borrowed = borrow_dlpack(tensor, owned, &read_only);
    runtime->runtime->bind(as_method(method), index, std::move(borrowed), read_only);
    *owned = true;
  });
}

stator_status* stator_runtime_bind_value(stator_runtime* runtime, const stator_method* method, int32_t index,
                                         const stator_value* value) {
  return guarded([&] {
    require_handle(runtime, "runtime");
    require_handle(method, "method");
    require_handle(value, "value");
    runtime->runtime->bind(as_method(method), index, hold_lease(value->value, value->lease), value->read_only);
  });
}

stator_status* stator_runtime_input(stator_runtime* runtime, const stator_method* method, int32_t index, int32_t dtype,
                                    int32_t ndim, const int64_t* shape, void** out) {
  return guarded([&] {
    require_handle(runtime, "runtime");
    require_handle(method, "method");
    require_handle(out, "out");
    check_shape(dtype, ndim, shape);
    *out =
        runtime->runtime->bind_window(as_method(method), index, scalar_type(dtype), {shape, static_cast<size_t>(ndim)});
  });
}

stator_status* stator_runtime_bind_output(stator_runtime* runtime, const stator_method* method, int32_t index,
                                          void* data, int32_t dtype, int32_t device, int32_t ndim, const int64_t* shape,
                                          const int64_t* strides) {
  return guarded([&] {
    require_handle(runtime, "runtime");
    require_handle(method, "method");
    runtime->runtime->bind_output(as_method(method), index, borrow_tensor({data, dtype, device, ndim, shape, strides}));
  });
}

stator_status* stator_runtime_unbind(stator_runtime* runtime, const stator_method* method) {
  return guarded([&] {
    require_handle(runtime, "runtime");
    runtime->runtime->unbind(method ? &as_method(method) : nullptr);
  });
}

stator_status* stator_runtime_run(stator_runtime* runtime, const stator_method* method, stator_arena* arena) {
  return guarded([&] {
    require_handle(runtime, "runtime");
    require_handle(method, "method");
    require_handle(arena, "arena");
    Retained<stator_runtime> keep_runtime(runtime);  // released by another thread meanwhile, it goes when the run ends
    Retained<stator_arena> keep_arena(arena);
    runtime->runtime->run(as_method(method), arena->arena);
  });
}

stator_status* stator_runtime_call(stator_runtime* runtime, const stator_method* method, const stator_value* args,
                                   const stator_value* kwargs, stator_arena* arena, stator_value** out) {
  return guarded([&] {
    require_handle(runtime, "runtime");
    require_handle(method, "method");
    require_handle(arena, "arena");
    require_handle(out, "out");
    Retained<stator_runtime> keep_runtime(runtime);
    Retained<stator_arena> keep_arena(arena);
    *out = call(*runtime->runtime, as_method(method), args, kwargs, arena->arena).release();
  });
}

int64_t stator_runtime_workspace_bytes(const stator_runtime* runtime) {
  return runtime ? runtime->runtime->workspace_bytes() : 0;
}
