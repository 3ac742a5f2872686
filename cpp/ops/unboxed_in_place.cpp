// Operators that change their first argument and return it.
#include "ops/unboxed.h"

namespace stator {
namespace {

namespace ops = at::_ops;

const auto in_place = native_operators<
    unboxed::Results::kFresh, ops::__iand___Scalar, ops::__iand___Tensor, ops::__ilshift___Scalar,
    ops::__ilshift___Tensor, ops::__ior___Scalar, ops::__ior___Tensor, ops::__irshift___Scalar, ops::__irshift___Tensor,
    ops::__ixor___Scalar, ops::__ixor___Tensor, ops::_add_relu__Scalar, ops::_add_relu__Tensor, ops::_index_put_impl_,
    ops::abs_, ops::absolute_, ops::addbmm_, ops::addmm_, ops::addmv_, ops::addr_, ops::alpha_dropout_, ops::arccos_,
    ops::arccosh_, ops::arcsin_, ops::arcsinh_, ops::arctan2_, ops::arctan_, ops::arctanh_, ops::as_strided_,
    ops::atan2_, ops::baddbmm_, ops::bitwise_left_shift__Tensor, ops::bitwise_left_shift__Tensor_Scalar,
    ops::bitwise_right_shift__Tensor, ops::bitwise_right_shift__Tensor_Scalar, ops::cauchy_, ops::celu_,
    ops::clamp__Tensor, ops::clamp_max__Tensor, ops::clamp_min__Tensor, ops::clip_, ops::clip__Tensor,
    ops::conj_physical_, ops::copysign__Scalar, ops::copysign__Tensor, ops::cumprod_, ops::cumsum_, ops::deg2rad_,
    ops::divide__Scalar, ops::divide__Scalar_mode, ops::divide__Tensor, ops::divide__Tensor_mode, ops::dropout_,
    ops::embedding_renorm_, ops::exponential_, ops::feature_alpha_dropout_, ops::feature_dropout_, ops::fill__Tensor,
    ops::fill_diagonal_, ops::fix_, ops::float_power__Scalar, ops::float_power__Tensor, ops::floor_divide__Scalar,
    ops::floor_divide__Tensor, ops::gcd_, ops::geometric_, ops::greater__Scalar, ops::greater__Tensor,
    ops::greater_equal__Scalar, ops::greater_equal__Tensor, ops::heaviside_, ops::hypot_, ops::i0_, ops::igamma_,
    ops::igammac_, ops::index_add_, ops::index_fill__int_Scalar, ops::index_fill__int_Tensor, ops::index_put_,
    ops::index_reduce_, ops::lcm_, ops::ldexp_, ops::lerp__Scalar, ops::lerp__Tensor, ops::less__Scalar,
    ops::less__Tensor, ops::less_equal__Scalar, ops::less_equal__Tensor, ops::log_normal_, ops::logical_and_,
    ops::logical_not_, ops::logical_or_, ops::logical_xor_, ops::logit_, ops::masked_scatter_, ops::multiply__Scalar,
    ops::multiply__Tensor, ops::nan_to_num_, ops::negative_, ops::nextafter_, ops::normal_, ops::not_equal__Scalar,
    ops::not_equal__Tensor, ops::polygamma_, ops::put_, ops::rad2deg_, ops::random_, ops::random__from, ops::random__to,
    ops::relu6_, ops::renorm_, ops::resize_, ops::resize_as_, ops::round__decimals, ops::rrelu_, ops::scatter__reduce,
    ops::scatter__src, ops::scatter__value, ops::scatter__value_reduce, ops::scatter_add_, ops::scatter_reduce__two,
    ops::selu_, ops::set_, ops::set__source_Tensor, ops::set__source_Tensor_storage_offset, ops::sinc_, ops::square_,
    ops::squeeze_, ops::squeeze__dim, ops::squeeze__dims, ops::subtract__Scalar, ops::subtract__Tensor, ops::swapaxes_,
    ops::swapdims_, ops::t_, ops::transpose_, ops::tril_, ops::triu_, ops::true_divide__Scalar,
    ops::true_divide__Tensor, ops::uniform_, ops::unsqueeze_, ops::xlogy__Scalar_Other, ops::xlogy__Tensor>();

}  // namespace
}  // namespace stator
