// Steps take over what only moves their results: a kernel writes where a copy would have put what it makes, with the ReLU that follows it.
#pragma once

#include "plan/signature_plan.h"

namespace stator {

// A pointwise step that hands on one tensor element by element, unchanged or through a ReLU, goes where the step that makes the tensor can
// write its result in the other's place. So inputs of a concatenation are made in their slices of it.
void absorb_copies(SignaturePlan& plan);

}  // namespace stator
