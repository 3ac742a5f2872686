// Operators whose kernels are not LibTorch's: registered with its dispatcher, so that archives which name them load and LibTorch itself can
// run them, and run by Stator as out variants.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/util/DimVector.h>

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "ops/registry.h"

namespace stator {

class CustomOperator {
 public:
  // What a result will be; contiguous.
  struct Result {
    at::ScalarType dtype;
    at::DimVector shape;
  };
  using Arguments = std::span<const c10::IValue>;

  CustomOperator() = default;
  CustomOperator(const CustomOperator&) = delete;
  CustomOperator& operator=(const CustomOperator&) = delete;
  virtual ~CustomOperator() = default;

  // Tensors among the arguments are strided, on the CPU and without lazy bits. Both are called from any thread.
  virtual void shape(Arguments arguments, std::span<Result> results) const = 0;
  virtual void run(Arguments arguments, std::span<const at::Tensor> results) const = 0;
};

// Registers the operator for the life of the process. `schema` is as in "my::swish(Tensor x, float beta=1.0) -> Tensor".
// Throws Error(kInvalidArgument) for a schema that does not parse and a name that is taken, kUnsupported for one with other results than new
// tensors.
void register_custom_operator(const std::string& schema, std::unique_ptr<CustomOperator> op);

// The out variant of a registered operator; nothing for any other.
std::optional<Implementation> custom_implementation(const Node& node);

}  // namespace stator
