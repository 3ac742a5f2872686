// The operator as LibTorch has it, called boxed: what every node can be run by, and what the better kinds hand over to when an argument is
// not what they are made for.
#pragma once

#include "ops/registry.h"

namespace stator {

Implementation fallback(const Node& node);

// A result whose schema promises fresh memory gets it, whatever the kernel did: the plan may reuse the argument's memory while the result
// lives.
void unshare(const Call& call, c10::IValue& result);

// Runs `op` on the call's arguments and puts what it returns into the result slots.
void run_boxed(const Operator& op, const Call& call);

// The same for implementations that prepare nothing: the registry gives those their operator as data.
inline void run_boxed(const Call& call) { run_boxed(call.data<Operator>(), call); }

}  // namespace stator
