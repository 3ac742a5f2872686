// SignaturePlan: a dynamic plan's instructions for one signature, with some calls replaced by bound kernels.
//
// The two arrays are parallel and work on the same slots and planned tensors, so a run may go over to the dynamic plan at any instruction:
//   bound -> dynamic: the slot of a result that something else than bound kernels sees holds a tensor over the result's place
//   dynamic -> bound: a bound call that reads what a dynamic instruction made compares dtype, sizes and strides first; if they are not what
//                     they were when the plan was made, the run goes on with the dynamic plan, at this instruction
// Control flow is never guessed: jumps stay jumps.
#pragma once

#include <memory>
#include <vector>

#include "plan/bound_call.h"
#include "plan/observation.h"
#include "plan/plan.h"
#include "plan/signature.h"

namespace stator {

struct SignaturePlan {
  const Plan* dynamic = nullptr;  // outlives it
  InputSignature signature;
  std::vector<Instruction> code;  // as long as dynamic->code; kBound: `index` in calls
  std::vector<BoundCall> calls;
};

// `observation` watched a whole run on this signature. Room for the bound results is made in the dynamic plan's layout.
std::shared_ptr<SignaturePlan> make_signature_plan(const Plan& dynamic, InputSignature signature,
                                                   const Observation& observation);

}  // namespace stator
