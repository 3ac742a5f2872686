// The `.out` overload that LibTorch has of an operator, for every operator without an implementation of its own here.
//
// An out form writes where it is told, but only the functional form says what is to be there: dtype, shape and strides. So the first call
// with arguments of some signature is a plain one, whose results are remembered; later ones with that signature place such results in
// planned memory and call the out form. What is remembered is shared by all runtimes of a plan.
#pragma once

#include "ops/registry.h"

namespace stator {

// The implementation by the out overload of a functional operator of the dispatcher. If there is none that writes in place, `run` is empty
// and `reason` says so.
//
// Those with a kernel for the CPU write in place. What LibTorch makes of other operators (composites) is the functional form and a copy;
// and where the functional form is a composite of its own, it may choose other kernels than the out form.
Implementation out_overload(const Node& node);

}  // namespace stator
