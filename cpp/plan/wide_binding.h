// WideBinding: a call on bfloat16 or half tensors, shown to a binder as the same call on float32.
//
// What the kernel reads is widened into scratch before it, what it makes is narrowed after it; as pointwise work, which joins what comes before
// and after. It is what LibTorch's own kernels compute, sums and all, with one rounding at the end; on a CPU without instructions for these
// dtypes it is many times faster. Constants are widened once in a module; a binder that packs them is given them as they are stored.
#pragma once

#include <deque>
#include <map>
#include <vector>

#include "plan/binding.h"

namespace stator {

class WideBinding final : public Binding {
 public:
  // `binding` must outlive this.
  explicit WideBinding(Binding& binding) : binding_(binding) {}

  // False if nothing was bound, whatever `binding` was told: also if nothing here is narrow.
  bool bind(Binder binder);

  const Node& node() const override { return binding_.node(); }
  const c10::IValue* known(size_t i) const override { return binding_.known(i); }
  const TensorView* tensor(size_t i) const override;
  std::optional<std::vector<TensorView>> tensor_list(size_t) const override { return std::nullopt; }
  std::optional<std::vector<std::optional<TensorView>>> optional_tensor_list(size_t) const override {
    return std::nullopt;
  }
  const at::Tensor* constant(const TensorView& view) const override;
  bool beats_any_size() const override { return true; }
  const TensorMeta* observed(size_t i) const override;
  int64_t parts(double nanoseconds) override;
  TensorView result(size_t i, at::ScalarType dtype, at::IntArrayRef sizes, at::IntArrayRef strides) override;
  void result_is(size_t i, TensorView view) override;
  void result_is_known(size_t i, c10::IValue value) override { binding_.result_is_known(i, std::move(value)); }
  TensorView scratch(at::ScalarType dtype, at::IntArrayRef sizes) override { return binding_.scratch(dtype, sizes); }
  TensorView keep(at::Tensor constant) override { return binding_.keep(std::move(constant)); }
  TensorView packed(const at::Tensor& weight, std::string_view form, const TensorMeta& meta,
                    const std::function<void(at::Tensor&)>& fill) override {
    return binding_.packed(weight, form, meta, fill);
  }
  void run(BoundKernel kernel, std::shared_ptr<const void> spec, std::vector<TensorView> reads,
           std::vector<TensorView> writes, bool can_fail) override;
  bool takes_variants() const override { return binding_.takes_variants(); }
  void can_also(std::shared_ptr<const KernelVariants> variants) override { binding_.can_also(std::move(variants)); }
  void run(TileExpression expression) override;

 private:
  // A narrow argument. Its wide form stands in binders' views as a buffer of no plan until a kernel reads it.
  struct Argument {
    TensorView narrow, shown;
    std::optional<TensorView> wide;
  };
  struct Result {
    TensorView narrow, wide;
  };

  const Argument* argument_of(const TensorView& view) const;
  TensorView widened(const TensorView& view);
  TensorView widen(const Argument& argument);
  TensorView widen_constant(const Argument& argument, const at::Tensor& stored);
  void narrow_results();

  Binding& binding_;
  mutable std::map<size_t, Argument> arguments_;  // by place
  mutable std::deque<TensorMeta> observed_;
  std::vector<Result> results_;
};

}  // namespace stator
