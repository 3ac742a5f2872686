// Layers of neural networks that make their own memory: oneDNN's convolutions, recurrent layers, pooling, attention, losses.
#include "ops/unboxed.h"

namespace stator {
namespace {

namespace ops = at::_ops;

const auto layers = native_operators<
    unboxed::Results::kFresh, ops::_convolution, ops::_convolution_deprecated, ops::_convolution_mode,
    ops::_embedding_bag, ops::_masked_softmax, ops::_native_batch_norm_legit_no_training,
    ops::_native_multi_head_attention, ops::_nnpack_spatial_convolution, ops::_pack_padded_sequence,
    ops::_pad_packed_sequence, ops::_prelu_kernel, ops::_safe_softmax, ops::_scaled_dot_product_attention_math,
    ops::_upsample_bicubic2d_aa_vec, ops::_upsample_bilinear2d_aa_vec, ops::_upsample_nearest_exact1d_vec,
    ops::_upsample_nearest_exact2d_vec, ops::_upsample_nearest_exact3d_vec, ops::_weight_norm, ops::adaptive_avg_pool1d,
    ops::adaptive_avg_pool2d, ops::adaptive_avg_pool3d, ops::adaptive_max_pool1d, ops::affine_grid_generator,
    ops::avg_pool1d, ops::bilinear, ops::binary_cross_entropy_with_logits, ops::cdist, ops::celu, ops::channel_shuffle,
    ops::constant_pad_nd, ops::conv1d, ops::conv1d_padding, ops::conv2d, ops::conv2d_padding, ops::conv3d,
    ops::conv3d_padding, ops::conv_tbc, ops::conv_transpose1d, ops::conv_transpose2d_input, ops::conv_transpose3d_input,
    ops::convolution, ops::cosine_embedding_loss, ops::cosine_similarity, ops::cross_entropy_loss,
    ops::ctc_loss_IntList, ops::ctc_loss_Tensor, ops::embedding_bag, ops::embedding_bag_padding_idx,
    ops::frobenius_norm_dim, ops::grid_sampler, ops::grid_sampler_2d, ops::grid_sampler_3d, ops::group_norm,
    ops::gru_cell, ops::gru_data, ops::gru_input, ops::hinge_embedding_loss, ops::instance_norm, ops::kl_div,
    ops::l1_loss, ops::linalg_matrix_norm, ops::linalg_matrix_norm_str_ord, ops::linalg_norm, ops::linalg_norm_ord_str,
    ops::lstm_cell, ops::lstm_data, ops::lstm_input, ops::margin_ranking_loss, ops::max_pool1d,
    ops::max_pool1d_with_indices, ops::max_pool2d, ops::max_pool3d, ops::multilabel_margin_loss, ops::native_batch_norm,
    ops::native_channel_shuffle, ops::native_dropout, ops::native_group_norm, ops::nll_loss, ops::nll_loss2d,
    ops::nll_loss_nd, ops::norm_ScalarOpt_dtype, ops::norm_except_dim, ops::normal_float_float, ops::nuclear_norm,
    ops::nuclear_norm_dim, ops::one_hot, ops::pad, ops::pad_sequence, ops::pairwise_distance, ops::pdist,
    ops::pixel_shuffle, ops::pixel_unshuffle, ops::poisson_nll_loss, ops::prelu, ops::rms_norm, ops::rnn_relu_cell,
    ops::rnn_relu_data, ops::rnn_relu_input, ops::rnn_tanh_cell, ops::rnn_tanh_data, ops::rnn_tanh_input, ops::rrelu,
    ops::scaled_dot_product_attention, ops::selu, ops::soft_margin_loss, ops::special_log_softmax, ops::special_softmax,
    ops::thnn_conv2d, ops::triplet_margin_loss, ops::upsample_bicubic2d_vec, ops::upsample_bilinear2d_vec,
    ops::upsample_linear1d_vec, ops::upsample_nearest1d_vec, ops::upsample_nearest2d_vec, ops::upsample_nearest3d_vec,
    ops::upsample_trilinear3d_vec>();

}  // namespace
}  // namespace stator
