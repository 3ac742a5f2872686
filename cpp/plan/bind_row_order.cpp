// Short rows sorted, and the k greatest or least of their elements.
#include <algorithm>

#include "kernels/row_order.h"
#include "plan/binding.h"
#include "plan/collapse.h"

namespace stator {
namespace {

// Of longer rows the call itself takes little, and LibTorch shares them among threads.
constexpr int64_t kLongestOrdered = 4096;

struct Kernels {
  BoundKernel topk, sort;
};

template <class T>
constexpr Kernels kKernels{topk<T>, sort_rows<T>};

const Kernels* kernels_for(at::ScalarType dtype) {
  switch (dtype) {
    case at::kFloat:
      return &kKernels<float>;
    case at::kDouble:
      return &kKernels<double>;
    case at::kLong:
      return &kKernels<int64_t>;
    default:
      return nullptr;
  }
}

struct OrderedRows {
  TensorView self;
  int64_t dim;
  const Kernels* kernels;
  RowOrderSpec spec;  // all elements wanted
};

// Of the tensor that is argument 0.
std::optional<OrderedRows> rows_along(Binding& binding, const c10::IValue* dim, const c10::IValue* greatest) {
  const TensorView* self = binding.tensor(0);
  const auto greatest_first = known_bool(greatest);
  if (!self || !greatest_first || self->meta.numel() == 0) return std::nullopt;
  const auto wrapped = wrapped_dim(dim, self->meta.dim());
  const Kernels* kernels = kernels_for(self->meta.dtype);
  if (!wrapped || !kernels) return std::nullopt;
  const auto runs = collapse_around(self->meta, *wrapped);
  if (!runs || runs->inner.size != 1 || runs->dim.size > kLongestOrdered) return std::nullopt;
  return OrderedRows{*self, *wrapped, kernels,
                     RowOrderSpec{.rows = runs->outer.size,
                                  .count = runs->dim.size,
                                  .k = runs->dim.size,
                                  .row_stride = runs->outer.stride,
                                  .stride = runs->dim.stride,
                                  .greatest = *greatest_first}};
}

void run_ordered(Binding& binding, BoundKernel kernel, OrderedRows& rows, const TensorView& values,
                 const TensorView& indices) {
  constexpr double kNanoseconds = 5;  // an element
  rows.spec.parts = std::min(binding.parts(static_cast<double>(rows.self.meta.numel()) * kNanoseconds), rows.spec.rows);
  const TensorView scratch = binding.scratch(at::kByte, {row_order_bytes(rows.spec)});
  binding.run_with(kernel, rows.spec, {rows.self}, {values, indices, scratch});
}

// (self, k, dim, largest, sorted)
bool bind_topk(Binding& binding) {
  const c10::IValue* k = binding.known(1);
  const auto sorted = known_bool(binding.known(4));
  auto rows = rows_along(binding, binding.known(2), binding.known(3));
  if (!rows || !k || !k->isInt() || !sorted || k->toInt() < 1 || k->toInt() > rows->spec.count) return false;
  rows->spec.k = k->toInt();
  rows->spec.sorted = *sorted;
  at::DimVector sizes = rows->self.meta.sizes;
  sizes[rows->dim] = rows->spec.k;
  const TensorView values = binding.result(0, rows->self.meta.dtype, sizes);
  run_ordered(binding, rows->kernels->topk, *rows, values, binding.result(1, at::kLong, sizes));
  return true;
}

std::optional<OrderedRows> rows_to_sort(Binding& binding, bool stable, size_t dim, size_t descending) {
  auto rows = rows_along(binding, binding.known(dim), binding.known(descending));
  if (rows) rows->spec.stable = stable;
  return rows;
}

bool bind_sorted(Binding& binding, std::optional<OrderedRows> rows) {
  if (!rows) return false;
  const at::DimVector& sizes = rows->self.meta.sizes;
  const TensorView values = binding.result(0, rows->self.meta.dtype, sizes);
  run_ordered(binding, rows->kernels->sort, *rows, values, binding.result(1, at::kLong, sizes));
  return true;
}

// Indices alone.
bool bind_argsorted(Binding& binding, std::optional<OrderedRows> rows) {
  if (!rows) return false;
  const at::DimVector& sizes = rows->self.meta.sizes;
  const TensorView values = binding.scratch(rows->self.meta.dtype, sizes);
  run_ordered(binding, rows->kernels->sort, *rows, values, binding.result(0, at::kLong, sizes));
  return true;
}

// (self, dim, descending)
bool bind_sort(Binding& binding) { return bind_sorted(binding, rows_to_sort(binding, false, 1, 2)); }
bool bind_argsort(Binding& binding) { return bind_argsorted(binding, rows_to_sort(binding, false, 1, 2)); }

// (self, stable, dim, descending)
std::optional<OrderedRows> rows_to_sort_as_told(Binding& binding) {
  const c10::IValue* stable = binding.known(1);
  if (!stable) return std::nullopt;
  return rows_to_sort(binding, known_bool(stable).value_or(false), 2, 3);
}
bool bind_sort_stable(Binding& binding) { return bind_sorted(binding, rows_to_sort_as_told(binding)); }
bool bind_argsort_stable(Binding& binding) { return bind_argsorted(binding, rows_to_sort_as_told(binding)); }

const BinderRegistration kTopK("aten::topk", bind_topk);
const BinderRegistration kSort("aten::sort", bind_sort);
const BinderRegistration kSortStable("aten::sort.stable", bind_sort_stable);
const BinderRegistration kArgsort("aten::argsort", bind_argsort);
const BinderRegistration kArgsortStable("aten::argsort.stable", bind_argsort_stable);

}  // namespace
}  // namespace stator
