// Matrix products of float32 as bound kernels, whatever operator asks for them. Constant right factors are packed once in a module.
#pragma once

#include <optional>

#include "plan/binding.h"

namespace stator {

// A factor or the result: [batches..., rows, columns], with strides.
struct Matrices {
  Dims sizes, strides;

  int64_t dim() const { return static_cast<int64_t>(sizes.size()); }
  int64_t rows() const { return sizes[sizes.size() - 2]; }
  int64_t columns() const { return sizes.back(); }
  int64_t row() const { return rows() == 1 ? 0 : strides[sizes.size() - 2]; }
  // Of one column it says what suits kernels best.
  int64_t column() const { return columns() == 1 ? 1 : strides.back(); }
};

inline Matrices matrices(const TensorMeta& meta) { return {meta.sizes, meta.strides}; }

Matrices transposed(Matrices m);
// One matrix more, or a row or column.
void insert_one(Matrices& m, int64_t place);

// c = a b + bias
struct Product {
  TensorView a_view, b_view;
  std::optional<TensorView> bias_view;
  Matrices a, b, c;
  std::optional<Matrices> bias;
  // Which dimension of the result each of c's is. Empty: all of them in order, and some of size 1.
  Dims c_dims{};
};

// Binds the product as result 0, which looks like `result`. False: LibTorch does it as well, or no kernel can.
bool bind_product(Binding& binding, Product product, const TensorMeta& result);

// The same into what the binder has made for it: a result or scratch. Which factor was bound as the left one is left in `product`. The kernel that it
// is bound to, or NULL.
BoundKernel bind_product_into(Binding& binding, Product& product, const TensorView& to);

// Argument i, if it is one of float32 that is not empty, with so many dimensions.
const TensorView* float_tensor(const Binding& binding, size_t i, int64_t least_dim, int64_t most_dim);

}  // namespace stator
