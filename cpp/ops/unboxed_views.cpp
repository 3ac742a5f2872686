// Views that are made too rarely for a native op of our own, and operators that may give an argument back although their schemas promise
// fresh memory (analysis/unsaid.h).
#include "ops/unboxed.h"

namespace stator {
namespace {

namespace ops = at::_ops;

const auto views =
    native_operators<unboxed::Results::kFresh, ops::_conj, ops::_native_batch_norm_legit, ops::adjoint, ops::as_strided,
                     ops::broadcast_to, ops::conj, ops::diagonal, ops::dsplit_array, ops::dsplit_int, ops::hsplit_array,
                     ops::hsplit_int, ops::imag, ops::linalg_diagonal, ops::mH, ops::mT, ops::matrix_H,
                     ops::moveaxis_int, ops::moveaxis_intlist, ops::movedim_int, ops::movedim_intlist, ops::numpy_T,
                     ops::positive, ops::ravel, ops::real, ops::reshape_as, ops::resolve_conj, ops::resolve_neg,
                     ops::slice_inverse, ops::tensor_split_indices, ops::tensor_split_sections,
                     ops::tensor_split_tensor_indices_or_sections, ops::unflatten_int, ops::unfold,
                     ops::view_as_complex, ops::view_as_real, ops::view_dtype, ops::vsplit_array, ops::vsplit_int>();

const auto may_return_arguments =
    native_operators<unboxed::Results::kMayBeArguments, ops::_to_cpu, ops::atleast_1d, ops::atleast_1d_Sequence,
                     ops::atleast_2d, ops::atleast_2d_Sequence, ops::atleast_3d, ops::atleast_3d_Sequence,
                     ops::broadcast_tensors, ops::cartesian_prod, ops::chain_matmul, ops::conj_physical, ops::einsum,
                     ops::histogramdd, ops::histogramdd_TensorList_bins, ops::histogramdd_int_bins, ops::meshgrid,
                     ops::meshgrid_indexing, ops::sum_to_size, ops::to_dense, ops::unsafe_chunk,
                     ops::unsafe_split_Tensor, ops::unsafe_split_with_sizes>();

}  // namespace
}  // namespace stator
