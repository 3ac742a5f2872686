// Profiles of runtimes, and the picture of a plan's memory.
#include "describe_profile.h"
#include "guard.h"
#include "handles.h"
#include "plan_picture.h"
#include "stator/stator_experimental.h"

using namespace stator;
using namespace stator::capi;

namespace {

constexpr int64_t kMostEvents = int64_t{1} << 26;

using Describe = std::string (*)(const StaticModule&, const Profile&);

stator_status* read_profile(const stator_runtime* runtime, stator_bytes** out, Describe describe) {
  return guarded([&] {
    require_handle(runtime, "runtime");
    require_handle(out, "out");
    const std::shared_ptr<const Profile> profile = runtime->runtime->profile();
    if (!profile)
      throw Error(ErrorCode::kInvalidArgument, "the runtime was never profiled: call stator_profile_start() first");
    auto bytes = std::make_unique<stator_bytes>();
    bytes->data = describe(*runtime->runtime->module(), *profile);
    *out = bytes.release();
  });
}

}  // namespace

stator_status* stator_profile_start(stator_runtime* runtime, int64_t event_limit) {
  return guarded([&] {
    require_handle(runtime, "runtime");
    require(event_limit >= 0 && event_limit <= kMostEvents, "event_limit", "must be 0 to 2^26");
    runtime->runtime->start_profile(event_limit);
  });
}

stator_status* stator_profile_stop(stator_runtime* runtime) {
  return guarded([&] {
    require_handle(runtime, "runtime");
    runtime->runtime->stop_profile();
  });
}

stator_status* stator_profile_text(const stator_runtime* runtime, stator_bytes** out) {
  return read_profile(runtime, out, profile_text);
}

stator_status* stator_profile_json(const stator_runtime* runtime, stator_bytes** out) {
  return read_profile(runtime, out, profile_json);
}

stator_status* stator_profile_trace(const stator_runtime* runtime, stator_bytes** out) {
  return read_profile(runtime, out, profile_trace);
}

stator_status* stator_method_plan_svg(const stator_method* method, stator_bytes** out) {
  return guarded([&] {
    require_handle(method, "method");
    require_handle(out, "out");
    auto bytes = std::make_unique<stator_bytes>();
    bytes->data = plan_svg(as_method(method));
    *out = bytes.release();
  });
}
