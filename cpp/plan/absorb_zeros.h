// Kernels take over the zeros that were put around what they read.
#pragma once

#include "plan/signature_plan.h"

namespace stator {

// A kernel that reads a tensor made of zeros and, within them, of another one's elements, reads that other tensor, if it can put zeros around it
// itself. So explicit padding before a convolution costs nothing.
void absorb_zeros(SignaturePlan& plan);

}  // namespace stator
