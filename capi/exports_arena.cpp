// Arenas.
#include "guard.h"
#include "handles.h"
#include "options.h"
#include "tensors.h"
#include "values.h"

using namespace stator;
using namespace stator::capi;

namespace {

const at::Tensor& output(const stator_arena* arena, int32_t index) {
  require_handle(arena, "arena");
  const auto& outputs = arena->arena.outputs();
  if (index < 0 || index >= static_cast<int32_t>(outputs.size())) {
    throw Error(ErrorCode::kInvalidArgument, "the arena holds " + std::to_string(outputs.size()) +
                                                 " output tensors, got index " + std::to_string(index));
  }
  return outputs[index];
}

}  // namespace

stator_status* stator_arena_create(stator_module* module, const stator_options* options, stator_arena** out) {
  return guarded([&] {
    require_handle(module, "module");
    require_handle(out, "out");
    no_options(options, "stator_arena_create");
    *out = new stator_arena(module->module);
  });
}

void stator_arena_retain(stator_arena* arena) { retain(arena); }

void stator_arena_release(stator_arena* arena) { release(arena); }

stator_status* stator_arena_reset(stator_arena* arena) {
  return guarded([&] {
    require_handle(arena, "arena");
    arena->arena.reset();
  });
}

stator_status* stator_arena_trim(stator_arena* arena) {
  return guarded([&] {
    require_handle(arena, "arena");
    arena->arena.trim();
  });
}

int64_t stator_arena_generation(const stator_arena* arena) { return arena ? arena->arena.generation() : 0; }

int64_t stator_arena_bytes(const stator_arena* arena) { return arena ? arena->arena.bytes() : 0; }

int32_t stator_arena_output_count(const stator_arena* arena) {
  return arena && arena->arena.filled() ? static_cast<int32_t>(arena->arena.outputs().size()) : 0;
}

stator_status* stator_arena_output(const stator_arena* arena, int32_t index, const void** data, int32_t* dtype,
                                   int32_t* device, int32_t* ndim, const int64_t** shape, const int64_t** strides) {
  return guarded([&] { read_tensor(output(arena, index), data, dtype, device, ndim, shape, strides); });
}

stator_status* stator_arena_result(const stator_arena* arena, stator_value** out) {
  return guarded([&] {
    require_handle(arena, "arena");
    require_handle(out, "out");
    *out = make_value(arena->arena.result(), arena->arena.lease()).release();
  });
}

stator_status* stator_arena_export(const stator_arena* arena, int32_t index, DLManagedTensorVersioned** out) {
  return guarded([&] {
    require_handle(out, "out");
    const at::Tensor& tensor = output(arena, index);
    *out = to_dlpack(tensor, arena->arena.lease(), false);
  });
}

stator_status* stator_arena_export_legacy(const stator_arena* arena, int32_t index, DLManagedTensor** out) {
  return guarded([&] {
    require_handle(out, "out");
    const at::Tensor& tensor = output(arena, index);
    *out = to_dlpack_legacy(tensor, arena->arena.lease());
  });
}
