// Linear algebra and Fourier transforms whose out forms are a copy of the functional ones.
#include "ops/unboxed.h"

namespace stator {
namespace {

namespace ops = at::_ops;

const auto linear_algebra = native_operators<
    unboxed::Results::kFresh, ops::_linalg_eigvals, ops::cholesky_solve, ops::corrcoef, ops::cov, ops::det, ops::dot,
    ops::fft_fft, ops::fft_fft2, ops::fft_fftfreq, ops::fft_fftn, ops::fft_fftshift, ops::fft_hfft, ops::fft_hfft2,
    ops::fft_hfftn, ops::fft_ifft, ops::fft_ifft2, ops::fft_ifftn, ops::fft_ifftshift, ops::fft_ihfft, ops::fft_ihfft2,
    ops::fft_ihfftn, ops::fft_irfft, ops::fft_irfft2, ops::fft_irfftn, ops::fft_rfft, ops::fft_rfft2, ops::fft_rfftfreq,
    ops::fft_rfftn, ops::ger, ops::inner, ops::istft, ops::kron, ops::linalg__powsum, ops::linalg_cholesky,
    ops::linalg_cond, ops::linalg_cond_p_str, ops::linalg_det, ops::linalg_eigh, ops::linalg_eigvals,
    ops::linalg_eigvalsh, ops::linalg_inv, ops::linalg_ldl_factor, ops::linalg_lu_factor, ops::linalg_matmul,
    ops::linalg_matrix_exp, ops::linalg_matrix_power, ops::linalg_matrix_rank, ops::linalg_matrix_rank_atol_rtol_float,
    ops::linalg_matrix_rank_atol_rtol_tensor, ops::linalg_matrix_rank_tol_tensor, ops::linalg_matrix_sqrth,
    ops::linalg_multi_dot, ops::linalg_pinv, ops::linalg_pinv_atol_rtol_float, ops::linalg_pinv_atol_rtol_tensor,
    ops::linalg_pinv_rcond_tensor, ops::linalg_slogdet, ops::linalg_solve, ops::linalg_solve_ex, ops::linalg_svd,
    ops::linalg_svdvals, ops::linalg_tensorinv, ops::linalg_tensorsolve, ops::linalg_vander, ops::linalg_vecdot,
    ops::logdet, ops::lu_solve, ops::matrix_exp, ops::matrix_power, ops::orgqr, ops::outer, ops::pinverse, ops::slogdet,
    ops::stft, ops::stft_center, ops::svd, ops::tensordot, ops::vander, ops::vdot>();

}  // namespace
}  // namespace stator
