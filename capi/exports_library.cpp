// Library, bytes and options: stator.h's functions that concern no module.
#include <cstring>

#include "describe.h"
#include "front/services.h"
#include "graph/log.h"
#include "guard.h"
#include "handles.h"
#include "options.h"

namespace stator::capi {

std::atomic<int64_t> live_handles[kHandleKinds];

}  // namespace stator::capi

using namespace stator::capi;

int64_t stator_core_live_handles(int32_t kind) {
  return kind > 0 && kind < kHandleKinds ? live_handles[kind].load(std::memory_order_relaxed) : 0;
}

stator_status* stator_build_info(stator_bytes** out) {
  return guarded([&] {
    require_handle(out, "out");
    auto bytes = std::make_unique<stator_bytes>();
    bytes->data = describe_build();
    *out = bytes.release();
  });
}

stator_status* stator_log_set(stator_log_fn callback, void* context, int32_t level) {
  return guarded([&] { stator::set_log(callback, context, level); });
}

stator_status* stator_log_collect(int32_t level, int64_t capacity) {
  return guarded([&] {
    require(capacity >= 0, "capacity", "is negative");
    stator::collect_log(level, capacity);
  });
}

stator_status* stator_log_next(int64_t timeout_ns, int32_t* level, stator_bytes** message) {
  return guarded([&] {
    require(timeout_ns >= -1, "timeout_ns", "must be 0, positive, or -1 to wait without end");
    require_handle(level, "level");
    require_handle(message, "message");
    std::optional<stator::LogRecord> record = stator::next_record(timeout_ns);
    std::unique_ptr<stator_bytes> text;
    if (record) {
      text = std::make_unique<stator_bytes>();
      text->data = std::move(record->message);
      *level = static_cast<int32_t>(record->level);
    }
    *message = text.release();
  });
}

const void* stator_bytes_data(const stator_bytes* bytes) { return bytes ? bytes->data.data() : nullptr; }

int64_t stator_bytes_size(const stator_bytes* bytes) { return bytes ? static_cast<int64_t>(bytes->data.size()) : 0; }

void stator_bytes_release(stator_bytes* bytes) { release(bytes); }

stator_status* stator_options_create(stator_options** out) {
  return guarded([&] {
    require_handle(out, "out");
    *out = new stator_options;
  });
}

namespace {

template <class T>
stator_status* set(stator_options* options, const char* key, T value) {
  return guarded([&] {
    require_handle(options, "options");
    require_handle(key, "key");
    stator_options::Setting setting(std::move(value));
    check_setting(key, setting);
    options->settings[key] = std::move(setting);
  });
}

}  // namespace

stator_status* stator_options_set_int(stator_options* options, const char* key, int64_t value) {
  return set(options, key, value);
}

stator_status* stator_options_set_double(stator_options* options, const char* key, double value) {
  return set(options, key, value);
}

stator_status* stator_options_set_str(stator_options* options, const char* key, const char* value) {
  return guarded([&] { require_handle(value, "value"); }) ?: set(options, key, std::string(value));
}

stator_status* stator_options_set_launcher(stator_options* options, stator_launch_fn launch, void* context) {
  return guarded([&] {
    require_handle(options, "options");
    options->launcher = {launch, context};
  });
}

void stator_options_release(stator_options* options) { release(options); }
