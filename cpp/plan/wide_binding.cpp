#include "plan/wide_binding.h"

#include <stdexcept>
#include <string>

namespace stator {
namespace {

// Larger constants are not widened for kernels that read them as they are, as tables of embeddings.
constexpr int64_t kMostWidened = int64_t{1} << 16;
// With instructions for the narrow dtype, LibTorch's kernels are only slower where calling them takes most of the time.
constexpr double kMostNanosecondsBesideInstructions = 4000;

bool is_narrow(at::ScalarType dtype) { return dtype == at::kBFloat16 || dtype == at::kHalf; }

bool has_instructions_for(at::ScalarType dtype) {
#if defined(__x86_64__)
  return dtype == at::kBFloat16 ? __builtin_cpu_supports("avx512bf16") : __builtin_cpu_supports("avx512fp16");
#else
  return true;
#endif
}

// Float32, in the same order if its elements lie without gaps, else contiguous.
TensorMeta wide_meta(const TensorMeta& narrow) {
  TensorMeta wide = narrow;
  wide.dtype = at::kFloat;
  const bool dense = wide.bytes() == wide.numel() * wide.itemsize();
  return dense ? wide : TensorMeta::contiguous(at::kFloat, narrow.sizes);
}

}  // namespace

bool WideBinding::bind(Binder binder) {
  bool any = false;
  for (size_t i = 0; i < node().inputs.size(); ++i) {
    const TensorView* view = binding_.tensor(i);
    any |= view && is_narrow(view->meta.dtype);
  }
  if (!any || !binder(*this)) return false;
  narrow_results();
  return true;
}

const TensorView* WideBinding::tensor(size_t i) const {
  const TensorView* view = binding_.tensor(i);
  if (!view || !is_narrow(view->meta.dtype)) return view;
  const auto known = arguments_.find(i);
  if (known != arguments_.end()) return &known->second.shown;
  TensorMeta meta = wide_meta(view->meta);
  if (binding_.constant(*view)) meta.strides = view->meta.strides;
  const BufferId stands_for = -2 - static_cast<BufferId>(i);
  return &arguments_.emplace(i, Argument{*view, {stands_for, 0, std::move(meta)}, {}}).first->second.shown;
}

const WideBinding::Argument* WideBinding::argument_of(const TensorView& view) const {
  if (view.buffer > -2) return nullptr;
  return &arguments_.at(static_cast<size_t>(-2 - view.buffer));
}

const at::Tensor* WideBinding::constant(const TensorView& view) const {
  const Argument* argument = argument_of(view);
  return binding_.constant(argument ? argument->narrow : view);
}

const TensorMeta* WideBinding::observed(size_t i) const {
  const TensorMeta* seen = binding_.observed(i);
  if (!seen || !is_narrow(seen->dtype)) return seen;
  observed_.push_back(*seen);
  observed_.back().dtype = at::kFloat;
  return &observed_.back();
}

int64_t WideBinding::parts(double nanoseconds) {
  for (const auto& [place, argument] : arguments_) {
    if (nanoseconds > kMostNanosecondsBesideInstructions && has_instructions_for(argument.narrow.meta.dtype))
      throw std::domain_error("LibTorch's kernel is as fast");
  }
  return binding_.parts(nanoseconds);
}

TensorView WideBinding::result(size_t i, at::ScalarType dtype, at::IntArrayRef sizes, at::IntArrayRef strides) {
  const TensorMeta* seen = binding_.observed(i);
  if (dtype != at::kFloat || !seen || !is_narrow(seen->dtype)) return binding_.result(i, dtype, sizes, strides);
  const TensorView narrow = binding_.result(i, seen->dtype, sizes, strides);
  TensorView wide = binding_.scratch(at::kFloat, sizes);
  wide.meta = wide_meta(narrow.meta);
  if (wide.meta.strides != narrow.meta.strides) throw std::domain_error("a result with gaps");
  results_.push_back({narrow, wide});
  return wide;
}

void WideBinding::result_is(size_t i, TensorView view) {
  if (argument_of(view)) throw std::domain_error("an argument as the result");
  binding_.result_is(i, std::move(view));
}

// Views --------------------------------------------------------------------------------------------------------------------

TensorView WideBinding::widened(const TensorView& view) {
  const Argument* argument = argument_of(view);
  if (!argument) return view;
  if (!argument->wide) arguments_.at(static_cast<size_t>(-2 - view.buffer)).wide = widen(*argument);
  TensorView out = *argument->wide;
  out.offset += view.offset;
  out.meta = view.meta;
  return out;
}

TensorView WideBinding::widen(const Argument& argument) {
  const TensorView& narrow = argument.narrow;
  if (const at::Tensor* stored = binding_.constant(narrow)) return widen_constant(argument, *stored);
  TensorView wide = binding_.scratch(at::kFloat, narrow.meta.sizes);
  wide.meta = argument.shown.meta;
  TileExpression expression(narrow.meta.sizes);
  expression.store(expression.cast(expression.load(narrow), narrow.meta.dtype, at::kFloat), wide);
  binding_.run(std::move(expression));
  return wide;
}

TensorView WideBinding::widen_constant(const Argument& argument, const at::Tensor& stored) {
  if (stored.numel() > kMostWidened) throw std::domain_error("a constant too large to have it twice");
  const TensorMeta& meta = argument.shown.meta;
  return binding_.packed(stored, "float32", meta, [&](at::Tensor& out) { out.copy_(stored); });
}

void WideBinding::narrow_results() {
  for (const auto& [narrow, wide] : results_) {
    TileExpression expression(narrow.meta.sizes);
    expression.store(expression.cast(expression.load(wide), at::kFloat, narrow.meta.dtype), narrow);
    binding_.run(std::move(expression));
  }
}

// Kernels ------------------------------------------------------------------------------------------------------------------

void WideBinding::run(BoundKernel kernel, std::shared_ptr<const void> spec, std::vector<TensorView> reads,
                      std::vector<TensorView> writes, bool can_fail) {
  for (TensorView& view : reads) view = widened(view);
  binding_.run(kernel, std::move(spec), std::move(reads), std::move(writes), can_fail);
}

// Pointwise work takes narrow tensors as they are, so what comes here has something else that does not fit.
void WideBinding::run(TileExpression) { throw std::domain_error("pointwise work, widened"); }

}  // namespace stator
