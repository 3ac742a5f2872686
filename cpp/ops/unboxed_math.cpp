// Operators without an out form that writes in place: composites of others, and those that return no tensor.
#include "ops/unboxed.h"

namespace stator {
namespace {

namespace ops = at::_ops;

const auto composites = native_operators<
    unboxed::Results::kFresh, ops::__lshift___Scalar, ops::__lshift___Tensor, ops::__rshift___Scalar,
    ops::__rshift___Tensor, ops::_add_relu_Scalar, ops::_aminmax, ops::_aminmax_dim, ops::_is_all_true,
    ops::_is_any_true, ops::_shape_as_tensor, ops::_to_dense, ops::_unique2, ops::_unsafe_index_Tensor,
    ops::_unsafe_index_put, ops::_unsafe_view, ops::absolute, ops::addmm_dtype, ops::allclose, ops::arccosh,
    ops::arcsinh, ops::arctan2, ops::arctanh, ops::argsort, ops::argsort_stable, ops::argwhere, ops::baddbmm_dtype,
    ops::bincount, ops::bitwise_and_Scalar_Tensor, ops::bitwise_left_shift_Scalar_Tensor, ops::bitwise_or_Scalar_Tensor,
    ops::bitwise_right_shift_Scalar_Tensor, ops::bitwise_xor_Scalar_Tensor, ops::block_diag, ops::bmm_dtype,
    ops::bucketize_Scalar, ops::can_cast, ops::chalf, ops::clip_Tensor, ops::column_stack, ops::combinations,
    ops::concatenate, ops::copysign_Scalar, ops::count_nonzero, ops::count_nonzero_dim_IntList, ops::cross, ops::cummax,
    ops::cummin, ops::cumulative_trapezoid_dx, ops::cumulative_trapezoid_x, ops::deg2rad, ops::diag, ops::diag_embed,
    ops::diagflat, ops::diagonal_scatter, ops::diff, ops::dist, ops::divide_Scalar_mode, ops::divide_Tensor_mode,
    ops::dstack, ops::equal, ops::flip, ops::fliplr, ops::flipud, ops::float_power_Scalar,
    ops::float_power_Tensor_Scalar, ops::float_power_Tensor_Tensor, ops::get_device, ops::greater_Scalar,
    ops::greater_Tensor, ops::greater_equal_Scalar, ops::greater_equal_Tensor, ops::hstack, ops::index_fill_int_Scalar,
    ops::index_fill_int_Tensor, ops::index_put, ops::is_conj, ops::is_contiguous_memory_format, ops::is_distributed,
    ops::is_inference, ops::is_neg, ops::is_nonzero, ops::is_same_size, ops::is_signed, ops::isclose, ops::isfinite,
    ops::isinf, ops::isreal, ops::ldexp_Tensor, ops::less_Scalar, ops::less_Tensor, ops::less_equal_Scalar,
    ops::less_equal_Tensor, ops::log_sigmoid, ops::logcumsumexp, ops::logsumexp, ops::masked_scatter, ops::median,
    ops::mm_dtype, ops::mode, ops::msort, ops::nanmean, ops::nanmedian, ops::nonzero_numpy, ops::not_equal_Scalar,
    ops::not_equal_Tensor, ops::prod, ops::promote_types, ops::rad2deg, ops::remainder_Scalar_Tensor, ops::repeat,
    ops::repeat_interleave_Tensor, ops::repeat_interleave_self_Tensor, ops::repeat_interleave_self_int,
    ops::result_type_Scalar, ops::result_type_Scalar_Scalar, ops::result_type_Scalar_Tensor, ops::result_type_Tensor,
    ops::roll, ops::rot90, ops::row_stack, ops::select_scatter, ops::slice_scatter,
    ops::special_chebyshev_polynomial_t_x_scalar, ops::special_chebyshev_polynomial_u_x_scalar,
    ops::special_chebyshev_polynomial_v_x_scalar, ops::special_chebyshev_polynomial_w_x_scalar, ops::special_erf,
    ops::special_erfc, ops::special_erfinv, ops::special_exp2, ops::special_expit, ops::special_expm1,
    ops::special_gammainc, ops::special_gammaincc, ops::special_gammaln, ops::special_hermite_polynomial_h_x_scalar,
    ops::special_hermite_polynomial_he_x_scalar, ops::special_i0, ops::special_laguerre_polynomial_l_x_scalar,
    ops::special_legendre_polynomial_p_x_scalar, ops::special_log1p, ops::special_logit, ops::special_logsumexp,
    ops::special_multigammaln, ops::special_ndtr, ops::special_psi, ops::special_round,
    ops::special_shifted_chebyshev_polynomial_t_x_scalar, ops::special_shifted_chebyshev_polynomial_u_x_scalar,
    ops::special_shifted_chebyshev_polynomial_v_x_scalar, ops::special_shifted_chebyshev_polynomial_w_x_scalar,
    ops::special_sinc, ops::special_xlog1py_other_scalar, ops::special_xlog1py_self_scalar, ops::special_xlogy,
    ops::special_xlogy_other_scalar, ops::special_xlogy_self_scalar, ops::special_zeta_other_scalar,
    ops::special_zeta_self_scalar, ops::std_mean, ops::std_mean_correction, ops::std_mean_dim, ops::take_along_dim,
    ops::tile, ops::trace, ops::trapezoid_dx, ops::trapezoid_x, ops::trapz_dx, ops::trapz_x, ops::unique_consecutive,
    ops::unique_dim, ops::var_mean, ops::var_mean_correction, ops::var_mean_dim, ops::vstack, ops::where,
    ops::where_Scalar, ops::xlogy_Scalar_Other, ops::xlogy_Scalar_Self>();

}  // namespace
}  // namespace stator
