// Two convolutions as one kernel (kernels/bottleneck.h).
#pragma once

#include <optional>

#include "kernels/bottleneck.h"
#include "plan/signature_plan.h"

namespace stator {

// What computes both steps, the second of which reads what the first makes; nullopt: no kernel does, or not in less time. Addresses: what the first
// one reads, what else the second one does, its result, scratch.
std::optional<BottleneckSpec> bottleneck_of(const SignatureStep& first, const SignatureStep& second);

}  // namespace stator
