// Metrics.
#include "describe_metrics.h"
#include "guard.h"
#include "handles.h"

using namespace stator;
using namespace stator::capi;

namespace {

stator_bytes* bytes_of(std::string text) {
  auto bytes = std::make_unique<stator_bytes>();
  bytes->data = std::move(text);
  return bytes.release();
}

}  // namespace

stator_status* stator_module_metrics(const stator_module* module, stator_bytes** out) {
  return guarded([&] {
    require_handle(module, "module");
    require_handle(out, "out");
    *out = bytes_of(metrics_json(*module->module));
  });
}

stator_status* stator_pool_metrics(const stator_pool* pool, stator_bytes** out) {
  return guarded([&] {
    require_handle(pool, "pool");
    require_handle(out, "out");
    *out = bytes_of(metrics_json(*pool->metrics));
  });
}

stator_status* stator_metrics_prometheus(stator_bytes** out) {
  return guarded([&] {
    require_handle(out, "out");
    *out = bytes_of(metrics_prometheus());
  });
}
