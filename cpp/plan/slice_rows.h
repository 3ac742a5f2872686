// Sums, softmax and norms take turns with what comes before and after them, some rows at a time: what lies between them stays in the second level
// cache, and takes no more memory than that.
#pragma once

#include "plan/signature_plan.h"

namespace stator {

// Of steps that follow one another row by row, where what lies between them is too large to stay in a cache. Pointwise steps are joined, but not
// compiled yet.
void slice_rows(SignaturePlan& plan);

}  // namespace stator
