// Steps take over what only moves their results: a kernel writes where a copy would have put what it makes, with the tensor that is added to it and
// the ReLU that follows.
#pragma once

#include "plan/signature_plan.h"

namespace stator {

// A pointwise step that hands on one tensor element by element, unchanged, added to another or through a ReLU, goes where the step that makes the
// tensor can write its result in the other's place. So inputs of a concatenation are made in their slices of it.
void absorb_copies(SignaturePlan& plan);

}  // namespace stator
