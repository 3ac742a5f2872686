// Profiles as text, JSON and Chrome's trace format, for stator_profile_text() and its kin.
#pragma once

#include <string>

#include "profile/profile.h"
#include "runtime/module.h"

namespace stator::capi {

std::string profile_text(const StaticModule& module, const Profile& profile);
std::string profile_json(const StaticModule& module, const Profile& profile);
std::string profile_trace(const StaticModule& module, const Profile& profile);

}  // namespace stator::capi
