// The k greatest or least elements of short rows.
#include <algorithm>

#include "kernels/topk.h"
#include "plan/binding.h"
#include "plan/collapse.h"

namespace stator {
namespace {

// Of longer rows the call itself takes little, and LibTorch shares them among threads.
constexpr int64_t kLongest = 4096;

BoundKernel kernel_for(at::ScalarType dtype) {
  switch (dtype) {
    case at::kFloat:
      return topk<float>;
    case at::kDouble:
      return topk<double>;
    case at::kLong:
      return topk<int64_t>;
    default:
      return nullptr;
  }
}

// (self, k, dim, largest, sorted)
bool bind_topk(Binding& binding) {
  const TensorView* self = binding.tensor(0);
  const c10::IValue* k = binding.known(1);
  const auto greatest = known_bool(binding.known(3)), sorted = known_bool(binding.known(4));
  if (!self || !k || !k->isInt() || !greatest || !sorted || self->meta.numel() == 0) return false;
  const auto dim = wrapped_dim(binding.known(2), self->meta.dim());
  const BoundKernel kernel = kernel_for(self->meta.dtype);
  if (!dim || !kernel) return false;
  const auto runs = collapse_around(self->meta, *dim);
  if (!runs || runs->inner.size != 1) return false;
  TopKSpec spec{.rows = runs->outer.size,
                .count = runs->dim.size,
                .k = k->toInt(),
                .row_stride = runs->outer.stride,
                .stride = runs->dim.stride,
                .greatest = *greatest,
                .sorted = *sorted};
  if (spec.count > kLongest || spec.k < 1 || spec.k > spec.count) return false;
  constexpr double kNanoseconds = 5;  // an element
  spec.parts = std::min(binding.parts(static_cast<double>(self->meta.numel()) * kNanoseconds), spec.rows);
  at::DimVector sizes = self->meta.sizes;
  sizes[*dim] = spec.k;
  std::vector<TensorView> writes{binding.result(0, self->meta.dtype, sizes), binding.result(1, at::kLong, sizes)};
  writes.push_back(binding.scratch(at::kByte, {topk_bytes(spec)}));
  binding.run_with(kernel, spec, {*self}, std::move(writes));
  return true;
}

const BinderRegistration kTopK("aten::topk", bind_topk);

}  // namespace
}  // namespace stator
