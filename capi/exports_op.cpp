// Operators that LibTorch does not bring: stator_experimental.h's functions named stator_op_*.
#include <optional>
#include <vector>

#include "front/services.h"
#include "guard.h"
#include "handles.h"
#include "ops/custom.h"
#include "ops/operator_library.h"
#include "stator/stator_experimental.h"
#include "status_layout.h"
#include "tensors.h"
#include "values.h"

using namespace stator;
using namespace stator::capi;

// What a callback sees of a call. `results` is there for a shape callback, `tensors` for a kernel.
struct stator_op_call {
  std::span<const c10::IValue> arguments;
  std::span<std::optional<CustomOperator::Result>> results;
  std::span<const at::Tensor> tensors;
};

namespace {

// Takes the status over.
[[noreturn]] void raise(stator_status* status) {
  Error error(static_cast<ErrorCode>(status->code), status->message,
              {status->op, status->node, status->source, status->argument});
  stator_core_services()->status_release(status);
  throw error;
}

class Callbacks final : public CustomOperator {
 public:
  Callbacks(stator_op_fn shape, stator_op_fn kernel, void* context)
      : shape_(shape), kernel_(kernel), context_(context) {}

  void shape(Arguments arguments, std::span<Result> results) const override {
    c10::SmallVector<std::optional<Result>, 2> said(results.size());
    stator_op_call call{arguments, said, {}};
    if (stator_status* status = shape_(context_, &call)) raise(status);
    for (size_t i = 0; i < results.size(); ++i) {
      if (!said[i])
        throw Error(ErrorCode::kOperatorError,
                    "the shape callback did not say what result " + std::to_string(i) + " is");
      results[i] = std::move(*said[i]);
    }
  }

  void run(Arguments arguments, std::span<const at::Tensor> results) const override {
    stator_op_call call{arguments, {}, results};
    if (stator_status* status = kernel_(context_, &call)) raise(status);
  }

 private:
  stator_op_fn shape_;
  stator_op_fn kernel_;
  void* context_;
};

void check_index(int32_t index, size_t count, const char* what) {
  if (index < 0 || static_cast<size_t>(index) >= count)
    throw Error(ErrorCode::kInvalidArgument,
                "the operator has " + std::to_string(count) + " " + what + ", got index " + std::to_string(index));
}

const c10::IValue& argument(const stator_op_call* call, int32_t index) {
  require_handle(call, "call");
  check_index(index, call->arguments.size(), "arguments");
  return call->arguments[index];
}

[[noreturn]] void wrong_kind(int32_t index, const c10::IValue& value, const char* expected) {
  throw Error(ErrorCode::kInvalidArgument, "argument " + std::to_string(index + 1) + " of the operator: expected " +
                                               expected + ", got " + value.tagKind());
}

}  // namespace

stator_status* stator_op_library_load(const char* path) {
  return guarded([&] {
    require_handle(path, "path");
    load_operator_library(path);
  });
}

stator_status* stator_op_register(const char* schema, stator_op_fn shape, stator_op_fn kernel, void* context) {
  return guarded([&] {
    require_handle(schema, "schema");
    require(shape != nullptr, "shape", "is NULL");
    require(kernel != nullptr, "kernel", "is NULL");
    register_custom_operator(schema, std::make_unique<Callbacks>(shape, kernel, context));
  });
}

int32_t stator_op_call_argument_count(const stator_op_call* call) {
  return call ? static_cast<int32_t>(call->arguments.size()) : 0;
}

int32_t stator_op_call_argument_kind(const stator_op_call* call, int32_t index) {
  if (!call || index < 0 || static_cast<size_t>(index) >= call->arguments.size()) return STATOR_KIND_NONE;
  return kind_of(call->arguments[index]);
}

stator_status* stator_op_call_tensor(const stator_op_call* call, int32_t index, const void** data, int32_t* dtype,
                                     int32_t* ndim, const int64_t** shape, const int64_t** strides) {
  return guarded([&] {
    const c10::IValue& value = argument(call, index);
    if (!value.isTensor()) wrong_kind(index, value, "a tensor");
    read_tensor(value.toTensor(), data, dtype, nullptr, ndim, shape, strides);
    if (data && call->tensors.empty()) *data = nullptr;
  });
}

stator_status* stator_op_call_int(const stator_op_call* call, int32_t index, int64_t* out) {
  return guarded([&] {
    const c10::IValue& value = argument(call, index);
    require_handle(out, "out");
    if (!value.isInt() && !value.isBool()) wrong_kind(index, value, "an int or a bool");
    *out = value.isInt() ? value.toInt() : static_cast<int64_t>(value.toBool());
  });
}

stator_status* stator_op_call_float(const stator_op_call* call, int32_t index, double* out) {
  return guarded([&] {
    const c10::IValue& value = argument(call, index);
    require_handle(out, "out");
    if (!value.isDouble() && !value.isInt()) wrong_kind(index, value, "a float or an int");
    *out = value.isDouble() ? value.toDouble() : static_cast<double>(value.toInt());
  });
}

stator_status* stator_op_call_value(const stator_op_call* call, int32_t index, stator_value** out) {
  return guarded([&] {
    const c10::IValue& value = argument(call, index);
    require_handle(out, "out");
    *out = make_value(value).release();
  });
}

stator_status* stator_op_call_set_output(stator_op_call* call, int32_t index, int32_t dtype, int32_t ndim,
                                         const int64_t* shape) {
  return guarded([&] {
    require_handle(call, "call");
    require(!call->results.empty(), "call", "is not that of a shape callback");
    check_index(index, call->results.size(), "results");
    check_shape(dtype, ndim, shape);
    call->results[index] = CustomOperator::Result{scalar_type(dtype), at::DimVector(shape, shape + ndim)};
  });
}

stator_status* stator_op_call_output(stator_op_call* call, int32_t index, void** data, int32_t* dtype, int32_t* ndim,
                                     const int64_t** shape) {
  return guarded([&] {
    require_handle(call, "call");
    require(!call->tensors.empty(), "call", "is not that of a kernel callback");
    check_index(index, call->tensors.size(), "results");
    const at::Tensor& tensor = call->tensors[index];
    read_tensor(tensor, nullptr, dtype, nullptr, ndim, shape, nullptr);
    if (data) *data = tensor.numel() == 0 ? nullptr : tensor.mutable_data_ptr();
  });
}
