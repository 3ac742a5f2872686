// Operators by their binders and bound kernels, beside LibTorch's own call: same arguments, same results.
#pragma once

#include <ATen/ATen.h>
#include <c10/util/ParallelGuard.h>
#include <gtest/gtest.h>

#include <cstring>

#include "graph/graph.h"
#include "kernels/row_order.h"
#include "plan/binding.h"
#include "usable_tables.h"

namespace stator {

const c10::IValue kNone;

// A kernel of the process's table as another table has it.
template <class Family>
BoundKernel in_table(BoundKernel kernel, const Family* from, const Family* to) {
  static_assert(sizeof(Family) % sizeof(BoundKernel) == 0);
  BoundKernel all[sizeof(Family) / sizeof(BoundKernel)], others[std::size(all)];
  std::memcpy(all, from, sizeof(Family));
  std::memcpy(others, to, sizeof(Family));
  for (size_t i = 0; i < std::size(all); ++i) {
    if (all[i] == kernel) return others[i];
  }
  return nullptr;
}

inline BoundKernel in_table(BoundKernel kernel, const KernelTable& to) {
  const KernelTable& from = kernels();
  if (BoundKernel found = in_table(kernel, from.reductions, to.reductions)) return found;
  if (BoundKernel found = in_table(kernel, from.rows, to.rows)) return found;
  if (BoundKernel found = in_table(kernel, from.convolution, to.convolution)) return found;
  if (BoundKernel found = in_table(kernel, from.pooling, to.pooling)) return found;
  if (BoundKernel found = in_table(kernel, from.resample, to.resample)) return found;
  if (BoundKernel found = in_table(kernel, from.scatter, to.scatter)) return found;
  if (kernel == from.winograd->convolve) return to.winograd->convolve;
  if (kernel == from.depthwise->convolve) return to.depthwise->convolve;
  if (kernel == from.positions->convolve) return to.positions->convolve;
  for (BoundKernel any :
       {topk<float>, topk<double>, topk<int64_t>, sort_rows<float>, sort_rows<double>, sort_rows<int64_t>}) {
    if (kernel == any) return kernel;
  }
  return in_table(kernel, from.gather, to.gather);
}

// One call of an operator, bound. All tensors among the arguments are constants if `constants`.
class BoundOperator : public Binding {
 public:
  BoundOperator(const char* key, std::vector<c10::IValue> arguments, bool constants = false, int64_t parts = 1)
      : arguments_(std::move(arguments)), constants_(constants), parts_(parts) {
    node_.op = find_operator(key);
    for (const c10::IValue& argument : arguments_) views_.push_back(view_of(argument));
    if (Binder binder = find_binder(node_)) bound_ = binder(*this);
  }

  bool bound() const { return bound_; }

  // False if a kernel fails.
  bool run_in(const KernelTable& table) {
    for (const Call& call : calls_) {
      if (!in_table(call.kernel, table)(call.spec.get(), call.addresses.data())) return false;
    }
    return true;
  }

  // For measurements: without looking for kernels anew.
  void prepare(const KernelTable& table) {
    for (Call& call : calls_) call.kernel = in_table(call.kernel, table);
  }
  bool run_prepared() const {
    for (const Call& call : calls_) {
      if (!call.kernel(call.spec.get(), call.addresses.data())) return false;
    }
    return true;
  }

  const std::vector<at::Tensor>& results() const { return results_; }

  std::vector<at::Tensor> expected() const { return called_with(arguments_); }

  // The same computed in double.
  std::vector<at::Tensor> exact() const {
    torch::jit::Stack wide = arguments_;
    for (c10::IValue& value : wide) {
      if (value.isTensor() && value.toTensor().defined() && value.toTensor().is_floating_point()) {
        value = value.toTensor().to(at::kDouble);
      }
    }
    return called_with(std::move(wide));
  }
  // Bytes behind the results are as they were.
  bool stayed_inside() const {
    for (const at::Tensor& memory : memory_) {
      const auto* data = memory.const_data_ptr<uint8_t>() + memory.numel() - kBehind;
      for (int64_t i = 0; i < kBehind; ++i) {
        if (data[i] != kUntouched) return false;
      }
    }
    return true;
  }

  const Node& node() const override { return node_; }
  const c10::IValue* known(size_t i) const override {
    const c10::IValue& value = arguments_.at(i);
    return value.isTensor() || value.isTensorList() || value.isOptionalTensorList() ? nullptr : &value;
  }
  const TensorView* tensor(size_t i) const override { return views_.at(i) ? &*views_[i] : nullptr; }
  std::optional<std::vector<TensorView>> tensor_list(size_t i) const override {
    if (!arguments_.at(i).isTensorList()) return std::nullopt;
    std::vector<TensorView> list;
    for (const at::Tensor& tensor : arguments_[i].toTensorVector()) list.push_back(*view_of(tensor));
    return list;
  }
  std::optional<std::vector<std::optional<TensorView>>> optional_tensor_list(size_t i) const override {
    if (!arguments_.at(i).isOptionalTensorList()) return std::nullopt;
    std::vector<std::optional<TensorView>> list;
    for (const std::optional<at::Tensor>& tensor : arguments_[i].toOptionalTensorVector()) {
      list.push_back(tensor ? view_of(*tensor) : std::nullopt);
    }
    return list;
  }
  const at::Tensor* constant(const TensorView& view) const override {
    return constants_ ? &tensors_.at(view.buffer) : nullptr;
  }
  const TensorMeta* observed(size_t) const override { return nullptr; }
  int64_t parts(double) override { return parts_; }
  TensorView result(size_t i, at::ScalarType dtype, at::IntArrayRef sizes, at::IntArrayRef strides) override {
    TensorMeta meta = TensorMeta::contiguous(dtype, sizes);
    if (!strides.empty()) meta.strides = at::DimVector(strides);
    const TensorView view = room(meta);
    results_.resize(std::max(results_.size(), i + 1));
    results_[i] = tensors_[view.buffer];
    return view;
  }
  void result_is(size_t i, TensorView view) override {
    results_.resize(std::max(results_.size(), i + 1));
    results_[i] = tensors_.at(view.buffer);
  }
  void result_is_known(size_t, c10::IValue) override {}
  TensorView scratch(at::ScalarType dtype, at::IntArrayRef sizes) override {
    return room(TensorMeta::contiguous(dtype, sizes));
  }
  TensorView keep(at::Tensor constant) override { return *view_of(constant); }
  TensorView packed(const at::Tensor&, std::string_view, const TensorMeta& meta,
                    const std::function<void(at::Tensor&)>& fill) override {
    at::Tensor packed = at::empty_strided(meta.sizes, meta.strides, at::TensorOptions(meta.dtype));
    fill(packed);
    return *view_of(packed);
  }
  void run(TileExpression) override { ADD_FAILURE() << "pointwise"; }
  void run(BoundKernel kernel, std::shared_ptr<const void> spec, std::vector<TensorView> reads,
           std::vector<TensorView> writes, bool) override {
    Call call{kernel, std::move(spec), {}};
    for (const TensorView& view : reads) call.addresses.push_back(tensors_.at(view.buffer).data_ptr());
    for (const TensorView& view : writes) call.addresses.push_back(tensors_.at(view.buffer).data_ptr());
    calls_.push_back(std::move(call));
  }

 private:
  std::vector<at::Tensor> called_with(torch::jit::Stack stack) const {
    node_.op->boxed(stack);
    std::vector<at::Tensor> results;
    for (const c10::IValue& value : stack) results.push_back(value.toTensor());
    return results;
  }

  static constexpr int64_t kBehind = 128;
  static constexpr uint8_t kUntouched = 0x5a;

  struct Call {
    BoundKernel kernel;
    std::shared_ptr<const void> spec;
    std::vector<void*> addresses;
  };

  // Buffer i is that of tensor i.
  std::optional<TensorView> view_of(const c10::IValue& value) const {
    if (!value.isTensor() || !value.toTensor().defined()) return std::nullopt;
    tensors_.push_back(value.toTensor());
    return TensorView{static_cast<BufferId>(tensors_.size() - 1), 0, TensorMeta::of(tensors_.back())};
  }

  TensorView room(const TensorMeta& meta) {
    memory_.push_back(at::full({meta.bytes() + kBehind}, kUntouched, at::kByte));
    const at::Tensor memory = memory_.back();
    return *view_of(at::from_blob(
        memory.mutable_data_ptr(), meta.sizes, meta.strides, [memory](void*) {}, at::TensorOptions(meta.dtype)));
  }

  Node node_;
  std::vector<c10::IValue> arguments_;
  bool constants_;
  const int64_t parts_;
  bool bound_ = false;
  std::vector<std::optional<TensorView>> views_;
  mutable std::vector<at::Tensor> tensors_;
  std::vector<at::Tensor> memory_, results_;
  std::vector<Call> calls_;
};

// As torch.testing.assert_close by dtype, with NaN equal.
inline bool is_close(const at::Tensor& expected, const at::Tensor& actual, double more = 0) {
  return expected.is_floating_point() ? at::allclose(expected, actual, 1.3e-6, 1e-5 + more, true)
                                      : at::equal(expected, actual);
}

inline double error_of(const at::Tensor& exact, const at::Tensor& result) {
  return at::nan_to_num(exact - result, 0, 0, 0).abs().max().item<double>();
}

// Where the operator magnifies rounding (a norm of nearly equal numbers), both are wrong: then no more than four times as far from what double
// precision gives as LibTorch is. Sums of 700 terms, one after the other, were found to be three times as far.
inline bool is_as_exact(const at::Tensor& exact, const at::Tensor& expected, const at::Tensor& actual) {
  if (!expected.is_floating_point() || expected.numel() == 0) return false;
  return is_close(exact, actual.to(exact.scalar_type()), 4 * error_of(exact, expected));
}

// In parts the same bit for bit; all in this thread, because waking others takes longer than the work. Some binders refuse more parts than a
// result has.
template <class Bind>
void expect_same_in_parts(const KernelTable& table, const Bind& bind, const std::vector<at::Tensor>& whole,
                          const std::string& what) {
  c10::ParallelGuard one_thread(true);
  BoundOperator call = bind(3);
  if (!call.bound()) return;
  ASSERT_TRUE(call.run_in(table)) << what << " in parts";
  ASSERT_TRUE(call.stayed_inside()) << what << " in parts";
  for (size_t i = 0; i < whole.size(); ++i) {
    ASSERT_TRUE(at::allclose(whole[i], call.results()[i], 0, 0, true)) << what << " in parts";
  }
}

inline void expect_bound(const KernelTable& table, const char* key, std::vector<c10::IValue> arguments,
                         bool constants = false) {
  const auto bound = [&](int64_t parts) { return BoundOperator(key, arguments, constants, parts); };
  std::stringstream what;
  what << key << " of " << TensorMeta::of(arguments.at(0).toTensor()).sizes;
  for (size_t i = 1; i < arguments.size(); ++i)
    what << (arguments[i].isTensor() ? c10::IValue("tensor") : arguments[i]) << " ";
  BoundOperator call = bound(1);
  ASSERT_TRUE(call.bound()) << what.str();
  ASSERT_TRUE(call.run_in(table)) << what.str();
  ASSERT_TRUE(call.stayed_inside()) << what.str();
  expect_same_in_parts(table, bound, call.results(), what.str());
  const std::vector<at::Tensor> all_expected = call.expected();
  ASSERT_EQ(all_expected.size(), call.results().size()) << what.str();
  for (size_t i = 0; i < all_expected.size(); ++i) {
    const at::Tensor &expected = all_expected[i], &actual = call.results()[i];
    ASSERT_EQ(expected.scalar_type(), actual.scalar_type()) << what.str();
    ASSERT_EQ(expected.sizes(), actual.sizes()) << what.str();
    ASSERT_EQ(expected.strides(), actual.strides()) << what.str();
    ASSERT_TRUE(is_close(expected, actual) || is_as_exact(call.exact()[i], expected, actual))
        << what.str() << "\nexpected " << expected << "\nactual " << actual << "\nfrom double precision: LibTorch's "
        << error_of(call.exact()[i], expected) << ", this " << error_of(call.exact()[i], actual);
  }
}

}  // namespace stator
