// One call of a bound kernel as a plan holds it, and how a node becomes one.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "kernels/bound_kernel.h"
#include "plan/plan.h"
#include "plan/value_descriptor.h"

namespace stator {

struct BoundCall {
  BoundKernel kernel = nullptr;
  BoundConstants constants;
  std::vector<ValueDescriptor> inputs;  // in the order of BoundArguments::inputs
  ValueDescriptor output;               // kPlanned
  // A number that the kernel takes as if it were a tensor of one element; it belongs to the call.
  std::unique_ptr<float> number;
  // Something else than bound kernels sees the result: its slot must hold a tensor.
  bool escapes = false;
};

// Whether bind_node() may take nodes of this operator.
bool bindable(const Node& node);

// Arguments of a node, by index: what is known of a tensor (nullptr: nothing), and the value of what is constant (nullptr: it is not).
struct KnownArguments {
  std::vector<const ValueDescriptor*> tensors;
  std::vector<const c10::IValue*> constants;
};

// The node as a bound call but for where its result lies, or nullopt if no kernel takes these arguments.
std::optional<BoundCall> bind_node(const Node& node, const KnownArguments& arguments);

}  // namespace stator
