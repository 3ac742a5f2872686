// The functions of stator.h that work without the core.
#include "front/forward.h"
#include "front/status.h"

using namespace stator::front;

extern "C" {

int32_t stator_abi_version(void) { return STATOR_ABI_MAJOR << 16 | STATOR_ABI_MINOR; }

stator_status *stator_torch_load(const char *path) { return open_core_with(path); }

int64_t stator_live_handles(int32_t kind) {
  if (kind == STATOR_HANDLE_STATUS) return live_statuses();
  return forward<kCoreLiveHandles>(stator_core_live_handles, kind);
}

// Not generated, because the caller's memory is given back also when the core is never reached.
stator_status *stator_module_load_shared(const void *data, int64_t size, stator_release_fn release, void *context,
                                         const stator_options *options, stator_module **out) {
  stator_status *refused = nullptr;
  const void *function = page.load(std::memory_order_acquire)[kModuleLoadShared];
  if (function == nullptr) function = open_core(kModuleLoadShared, &refused);
  if (function == nullptr) {
    if (release != nullptr) release(context);
    return refused;
  }
  return as<decltype(stator_module_load_shared)>(function)(data, size, release, context, options, out);
}

}  // extern "C"
