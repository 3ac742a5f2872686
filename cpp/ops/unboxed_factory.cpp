// Tensors made of nothing but sizes, and random ones.
#include "ops/unboxed.h"

namespace stator {
namespace {

namespace ops = at::_ops;

const auto factories = native_operators<
    unboxed::Results::kFresh, ops::_standard_gamma, ops::bartlett_window, ops::bartlett_window_periodic,
    ops::blackman_window, ops::blackman_window_periodic, ops::empty_permuted, ops::empty_strided, ops::eye, ops::eye_m,
    ops::hamming_window, ops::hamming_window_periodic, ops::hamming_window_periodic_alpha,
    ops::hamming_window_periodic_alpha_beta, ops::hann_window, ops::hann_window_periodic, ops::kaiser_window,
    ops::kaiser_window_beta, ops::kaiser_window_periodic, ops::linspace, ops::linspace_Scalar_Tensor,
    ops::linspace_Tensor_Scalar, ops::linspace_Tensor_Tensor, ops::logspace, ops::logspace_Scalar_Tensor,
    ops::logspace_Tensor_Scalar, ops::logspace_Tensor_Tensor, ops::new_empty, ops::new_empty_strided, ops::rand,
    ops::rand_generator, ops::rand_like, ops::rand_like_generator, ops::randint, ops::randint_generator,
    ops::randint_like, ops::randint_like_Tensor, ops::randint_like_Tensor_generator, ops::randint_like_generator,
    ops::randint_like_low_dtype, ops::randint_like_low_generator_dtype, ops::randint_low, ops::randint_low_generator,
    ops::randn, ops::randn_generator, ops::randn_like, ops::randn_like_generator, ops::randperm,
    ops::randperm_generator, ops::scalar_tensor, ops::special_digamma, ops::special_polygamma, ops::tril_indices,
    ops::triu_indices>();

}  // namespace
}  // namespace stator
