// What one kernel makes and the next one reads channel by channel is made in slices.
#pragma once

#include "plan/signature_plan.h"

namespace stator {

// Two kernels that follow one another, of which only the second reads what the first makes, become one where there is one for both that takes less
// time (plan/bottleneck.h). Others take turns where what is between them is too much for the second level cache: a few channels are made in memory
// that is used again for the next ones, and read at once.
void slice_channels(SignaturePlan& plan);

}  // namespace stator
