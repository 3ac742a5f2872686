// Joins pointwise steps of a signature plan, so that what one hands to another stays in registers.
#pragma once

#include "plan/signature_plan.h"

namespace stator {

// A step joins an earlier one whose results it reads, over the same iteration space, if nothing between them stands in the way of doing
// both at once: at the later place, else at the earlier one.
void fuse_tiles(SignaturePlan& plan);

// Drops steps, and stores within steps, whose results nothing reads.
void drop_unread(SignaturePlan& plan);

}  // namespace stator
