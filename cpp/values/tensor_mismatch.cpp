#include "values/tensor_mismatch.h"

#include "graph/dtype.h"

namespace stator {

std::optional<TensorMismatch> tensor_mismatch(const at::Tensor& tensor, std::optional<at::ScalarType> dtype,
                                              std::optional<at::IntArrayRef> sizes) {
  if (dtype && *dtype != tensor.scalar_type()) {
    return TensorMismatch{ErrorCode::kDtypeMismatch, std::string("dtype is ") + dtype_name(tensor.scalar_type()) +
                                                         " instead of " + dtype_name(*dtype)};
  }
  if (!sizes) return std::nullopt;
  const auto other = [](const std::string& what, int64_t got, int64_t wanted) {
    return TensorMismatch{ErrorCode::kShapeMismatch,
                          what + " is " + std::to_string(got) + " instead of " + std::to_string(wanted)};
  };
  const auto rank = static_cast<int64_t>(sizes->size());
  if (tensor.dim() != rank) return other("dimension count", tensor.dim(), rank);
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t wanted = (*sizes)[d];
    if (wanted >= 0 && wanted != tensor.size(d)) return other("dimension " + std::to_string(d), tensor.size(d), wanted);
  }
  return std::nullopt;
}

}  // namespace stator
