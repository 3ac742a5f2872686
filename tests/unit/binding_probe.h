// A Binding without a plan: arguments are tensors and values, kernels run when they are bound. For tests of binders.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <deque>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plan/binding.h"

namespace stator {

class BindingProbe : public Binding {
 public:
  // `constants`: arguments that never change.
  BindingProbe(std::string key, std::vector<c10::IValue> arguments, std::set<size_t> constants = {}, int64_t parts = 1)
      : parts_(parts),
        op_{key, "", key, c10::FunctionSchema("probe", "", {}, {}), {}, {}},
        arguments_(std::move(arguments)),
        constants_(std::move(constants)) {
    node_.op = &op_;
    for (size_t i = 0; i < arguments_.size(); ++i) {
      views_.push_back(arguments_[i].isTensor() ? view_of(arguments_[i].toTensor(), constants_.count(i) > 0)
                                                : TensorView{});
      lists_.emplace_back();
      optional_lists_.push_back(optional_views(arguments_[i]));
      if (!arguments_[i].isTensorList()) continue;
      for (const at::Tensor& tensor : arguments_[i].toTensorVector())
        lists_[i].push_back(view_of(tensor, is_constant_list(i)));
    }
  }

  // Binds and runs. False if there is no binder or it does not want to.
  bool bind() {
    const Binder binder = find_binder(node_);
    return binder && binder(*this);
  }
  // The bound kernels once more, for measurements.
  void run_again() const {
    for (const Call& call : calls_) call.kernel(call.spec.get(), call.addresses.data());
  }
  const at::Tensor& result(size_t i = 0) const {
    return buffers_.at(static_cast<size_t>(results_.at(i).buffer)).tensor;
  }

  const Node& node() const override { return node_; }
  // A constant list is one value, as in a frozen module.
  const c10::IValue* known(size_t i) const override {
    const bool lists_tensors = arguments_[i].isTensorList() && !is_constant_list(i);
    return arguments_[i].isTensor() || lists_tensors ? nullptr : &arguments_[i];
  }
  const TensorView* tensor(size_t i) const override { return arguments_[i].isTensor() ? &views_[i] : nullptr; }
  std::optional<std::vector<TensorView>> tensor_list(size_t i) const override {
    return arguments_[i].isTensorList() ? std::optional(lists_[i]) : std::nullopt;
  }
  std::optional<std::vector<std::optional<TensorView>>> optional_tensor_list(size_t i) const override {
    return optional_lists_[i];
  }
  const at::Tensor* constant(const TensorView& view) const override {
    const Buffer& buffer = buffers_.at(static_cast<size_t>(view.buffer));
    return buffer.constant ? &buffer.tensor : nullptr;
  }
  const TensorMeta* observed(size_t i) const override {
    if (observed_.empty()) {
      torch::jit::Stack stack = arguments_;
      try {
        find_operator(op_.key)->boxed(stack);
      } catch (const c10::Error&) {
        return nullptr;
      }
      for (const c10::IValue& value : stack) observed_.push_back(TensorMeta::of(value.toTensor()));
    }
    return &observed_.at(i);
  }
  int64_t parts(double) override { return parts_; }
  TensorView result(size_t i, at::ScalarType dtype, at::IntArrayRef sizes, at::IntArrayRef strides) override {
    const at::TensorOptions options(dtype);
    at::Tensor tensor = strides.empty() ? at::empty(sizes, options) : at::empty_strided(sizes, strides, options);
    if (results_.size() <= i) results_.resize(i + 1);
    return results_[i] = view_of(tensor.fill_(7), false);
  }
  void result_is(size_t, TensorView) override { FAIL() << "not expected"; }
  void result_is_known(size_t, c10::IValue) override { FAIL() << "not expected"; }
  TensorView scratch(at::ScalarType dtype, at::IntArrayRef sizes) override {
    at::Tensor tensor = at::empty(sizes, at::TensorOptions(dtype));
    return view_of(at::isFloatingType(dtype) ? tensor.fill_(std::numeric_limits<double>::quiet_NaN()) : tensor, false);
  }
  TensorView keep(at::Tensor constant) override { return view_of(constant, true); }
  TensorView packed(const at::Tensor&, std::string_view, const TensorMeta& meta,
                    const std::function<void(at::Tensor&)>& fill) override {
    at::Tensor tensor = at::empty_strided(meta.sizes, meta.strides, at::TensorOptions(meta.dtype));
    fill(tensor.fill_(std::numeric_limits<double>::quiet_NaN()));
    return view_of(std::move(tensor), true);
  }
  void run(TileExpression) override { FAIL() << "not expected"; }
  void run(BoundKernel kernel, std::shared_ptr<const void> spec, std::vector<TensorView> reads,
           std::vector<TensorView> writes, bool) override {
    std::vector<void*> addresses;
    for (const auto* views : {&reads, &writes}) {
      for (const TensorView& view : *views) {
        addresses.push_back(static_cast<char*>(buffers_.at(static_cast<size_t>(view.buffer)).tensor.data_ptr()) +
                            view.offset);
      }
    }
    EXPECT_TRUE(kernel(spec.get(), addresses.data()));
    calls_.push_back({kernel, std::move(spec), std::move(addresses)});
  }

 private:
  const int64_t parts_;
  struct Call {
    BoundKernel kernel;
    std::shared_ptr<const void> spec;
    std::vector<void*> addresses;
  };
  struct Buffer {
    at::Tensor tensor;
    bool constant;
  };

  bool is_constant_list(size_t i) const { return arguments_[i].isTensorList() && constants_.count(i) > 0; }

  std::optional<std::vector<std::optional<TensorView>>> optional_views(const c10::IValue& value) {
    if (!value.isOptionalTensorList()) return std::nullopt;
    std::vector<std::optional<TensorView>> views;
    for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector())
      views.push_back(tensor ? std::optional(view_of(*tensor, true)) : std::nullopt);
    return views;
  }

  TensorView view_of(const at::Tensor& tensor, bool constant) {
    buffers_.push_back({tensor, constant});
    return {static_cast<BufferId>(buffers_.size() - 1), 0, TensorMeta::of(tensor)};
  }

  Operator op_;
  mutable std::vector<TensorMeta> observed_;
  Node node_;
  std::vector<c10::IValue> arguments_;
  std::set<size_t> constants_;
  std::vector<TensorView> views_;
  std::vector<std::vector<TensorView>> lists_;
  std::vector<std::optional<std::vector<std::optional<TensorView>>>> optional_lists_;
  std::deque<Buffer> buffers_;
  std::vector<Call> calls_;
  std::vector<TensorView> results_;
};

}  // namespace stator
