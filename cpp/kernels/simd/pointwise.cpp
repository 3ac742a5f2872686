// Pointwise kernels, by the formulas of ATen's vectorised ones. Compiled once per CPU capability.
#include <ATen/cpu/vec/vec.h>

#include "kernels/table.h"

namespace stator::CPU_CAPABILITY {

extern const PointwiseKernels pointwise_kernels;

namespace {

using Vec = at::vec::Vectorized<float>;
using Kernels = PointwiseKernels;

// An input of one run: elements in a row, or one for all.
template <bool kOne>
class Input {
 public:
  explicit Input(const float* data) : data_(data), one_(kOne ? *data : 0.0f) {}
  Vec at(int64_t i) const { return kOne ? one_ : Vec::loadu(data_ + i); }
  Vec at(int64_t i, int64_t count) const { return kOne ? one_ : Vec::loadu(data_ + i, count); }

 private:
  const float* data_;
  Vec one_;
};

template <class F, class... I>
void run(float* out, int64_t count, const F& f, const I&... inputs) {
  int64_t i = 0;
  for (; i + Vec::size() <= count; i += Vec::size()) f(inputs.at(i)...).store(out + i);
  if (i < count) f(inputs.at(i, count - i)...).store(out + i, count - i);
}

template <bool kOneA, bool kOneB, class F>
void runs(const BoundArguments& arguments, const F& f) {
  const auto& sizes = arguments.constants.sizes;
  const auto* a = static_cast<const float*>(arguments.inputs[0]);
  const auto* b = static_cast<const float*>(arguments.inputs[1]);
  auto* out = static_cast<float*>(arguments.output);
  for (int64_t i = 0; i < sizes[Kernels::kRuns]; ++i) {
    run(out, sizes[Kernels::kRun], f, Input<kOneA>(a), Input<kOneB>(b));
    a += sizes[Kernels::kOuterA];
    b += sizes[Kernels::kOuterB];
    out += sizes[Kernels::kRun];
  }
}

template <class F>
void binary(const BoundArguments& arguments, const F& f) {
  const auto& sizes = arguments.constants.sizes;
  if (sizes[Kernels::kInnerA] == 0) {
    sizes[Kernels::kInnerB] == 0 ? runs<true, true>(arguments, f) : runs<true, false>(arguments, f);
  } else {
    sizes[Kernels::kInnerB] == 0 ? runs<false, true>(arguments, f) : runs<false, false>(arguments, f);
  }
}

void add(const BoundArguments& arguments) {
  const Vec alpha(arguments.constants.numbers[0]);
  binary(arguments, [alpha](const Vec& a, const Vec& b) { return at::vec::fmadd(b, alpha, a); });
}

void mul(const BoundArguments& arguments) {
  binary(arguments, [](const Vec& a, const Vec& b) { return a * b; });
}

void sigmoid(const BoundArguments& arguments) {
  const auto formula = [](const Vec& a) { return (Vec(1.0f) + (Vec(0.0f) - a).exp()).reciprocal(); };
  run(static_cast<float*>(arguments.output), arguments.constants.sizes[Kernels::kRun], formula,
      Input<false>(static_cast<const float*>(arguments.inputs[0])));
}

}  // namespace

const PointwiseKernels pointwise_kernels{add, mul, sigmoid};

}  // namespace stator::CPU_CAPABILITY
