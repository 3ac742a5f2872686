// Small constants that pointwise steps broadcast are written down element by element: so they are read as they lie, and not put together from
// rows at each run.
#pragma once

#include "plan/signature_plan.h"

namespace stator {

void expand_constants(SignaturePlan& plan);

}  // namespace stator
