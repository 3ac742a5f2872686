// Options as the exported calls read them: which keys a call takes, with what type and range.
#pragma once

#include "handles.h"
#include "runtime/options.h"

namespace stator::capi {

// Throw Error(kInvalidArgument) for a key that the call does not take. NULL options are the defaults.
ModuleOptions module_options(const stator_options* options);
RuntimeOptions runtime_options(const stator_options* options);
PoolOptions pool_options(const stator_options* options);
void no_options(const stator_options* options, const char* call);

// Throws Error(kInvalidArgument) that names the nearest key, or the type that the key takes.
void check_setting(const std::string& key, const stator_options::Setting& value);

}  // namespace stator::capi
