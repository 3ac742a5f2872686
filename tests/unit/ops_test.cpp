#include "ops_samples.h"

namespace stator::test {
namespace {

// The samples are tables, a line an operator.
// clang-format off

// Those with arguments of their own; the rest is in ops_pointwise_test.cpp.
std::vector<Row> pointwise(const Shared& shared) {
  const auto& [f23, f, images, kFloat, kDouble, kLong, kInt] = shared;
  return {
    {{"aten::clamp", "aten::clip", "aten::clamp_"},
     {{f, -0.5, 0.5}, {f, kNone, 0.5}, {f, 0, kNone}, {whole({9}), -2, 2}, {whole({9}), -1.5, 2}, {gaps(f), 0, 1}, {f, NAN, 1.0}, {f, kNone, kNone}}},
    {{"aten::clamp.Tensor"}, {{f, rnd({5}), kNone}, {f, rnd({4, 1}), rnd({1, 5})}, {whole({4, 5}), kNone, f}}},
    {{"aten::pow.Scalar"}, {{2, f}, {1, whole({3})}, {2.5, whole({3})}}},
    {{"aten::addcmul", "aten::addcdiv", "aten::addcmul_", "aten::addcdiv_"}, {{f, rnd({5}), rnd({4, 1}), 2}, {wide({3}), wide({3}), wide({}), 0.5}}},
    {{"aten::lerp.Scalar"}, {{f, rnd({4, 5}), 0.3}, {wide({3}), wide({3}), 2}}},
    {{"aten::lerp.Tensor"}, {{f, rnd({4, 5}), rnd({5})}}},
    {{"aten::glu"}, {{rnd({4, 6}), -1}, {rnd({4, 6}), 0}, {rnd({3, 5}), 1}}},
    {{"aten::threshold", "aten::threshold_"}, {{f, 0.1, 20}, {whole({9}), 1, 2}}},
    {{"aten::tril", "aten::triu"}, {{f, 0}, {rnd({2, 4, 4}), -1}, {rnd({5, 4}).t(), 1}, {whole({3, 3}), 0}}},
    {{"aten::round.decimals"}, {{f, 1}, {wide({7}), -1}}},
    {{"aten::where.self"},
     {{bits({4, 5}), f, rnd({4, 5})}, {bits({4, 1}), f, rnd({5})}, {bits({4, 5}), f, wide({4, 5})}, {bits({5, 4}).t(), rnd({5, 4}).t(), rnd({5, 4}).t()},
      {bits({4, 5}), rnd({5, 4}).t(), f}, {bits({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast), images, last({2, 3, 4, 5})}, {bits({3}), whole({3}), rnd({})}}},
    {{"aten::where.ScalarOther"}, {{bits({1, 5, 1}), rnd({5, 1, 1}), 0.5}, {bits({4, 5}), f, 2}, {bits({4, 5}), whole({5}), 0.5}, {bits({5}), half({5}), -INFINITY}}},
    {{"aten::where.ScalarSelf"}, {{bits({4, 5}), 2, f}, {bits({4, 5}), 1.5, whole({5})}}},
    {{"aten::masked_fill.Scalar", "aten::masked_fill_.Scalar"}, {{f, bits({4, 5}), -INFINITY}, {f, bits({5}), 1}, {rnd({5, 4}).t(), bits({4, 1}), 0}, {whole({5}), bits({5}), 3}, {f, f, 0}}},
    {{"aten::masked_fill.Scalar"}, {{rnd({5}), bits({4, 5}), 1.5}}},
    {{"aten::masked_fill.Tensor", "aten::masked_fill_.Tensor"}, {{f, bits({4, 5}), rnd({})}, {f, bits({4, 5}), rnd({2})}}},
  };
}

std::vector<Row> matrices(const Shared& shared) {
  const auto& [f23, f, images, kFloat, kDouble, kLong, kInt] = shared;
  return {
    {{"aten::mm"}, {{f, rnd({5, 3})}, {rnd({5, 4}).t(), rnd({3, 5}).t()}, {rnd({0, 5}), rnd({5, 3})}, {wide({2, 2}), wide({2, 2})}, {f, f}, {f, wide({5, 2})}, {whole({2, 3}), whole({3, 2})}}},
    {{"aten::bmm"}, {{rnd({2, 3, 4}), rnd({2, 4, 5})}, {rnd({2, 3, 4}), rnd({2, 5, 4}).transpose(1, 2)}, {rnd({2, 3, 4}), rnd({3, 4, 5})}, {rnd({1, 1, 32}), rnd({1, 32, 1})}}},
    {{"aten::addmm"}, {{rnd({3}), f, rnd({5, 3}), 1, 1}, {rnd({4, 3}), f, rnd({5, 3}), 2, 0.5}, {rnd({3}), f, rnd({3, 5}).t(), 1, 1}, {gaps(rnd({6})), f, rnd({5, 3}), 1, 1}, {rnd({2}), f, rnd({5, 3}), 1, 1}}},
    {{"aten::baddbmm"}, {{rnd({2, 3, 5}), rnd({2, 3, 4}), rnd({2, 4, 5}), 1, 1}, {rnd({5}), rnd({2, 3, 4}), rnd({2, 4, 5}), 0.5, 2}}},
    {{"aten::mv"}, {{f, rnd({5})}, {rnd({5, 4}).t(), rnd({5})}, {f, rnd({4})}, {wide({3, 2}), wide({2})}}},
    {{"aten::matmul"},
     {{f, rnd({5, 3})}, {rnd({5}), rnd({5})}, {f, rnd({5})}, {rnd({4}), f}, {rnd({2, 3, 4, 5}), rnd({5, 6})}, {rnd({2, 3, 4, 5}), rnd({2, 3, 5, 6})},
      {rnd({2, 3, 4, 5}), rnd({2, 3, 6, 5}).transpose(2, 3)}, {rnd({2, 4, 3, 5}).transpose(1, 2), rnd({2, 3, 5, 6})}, {rnd({3, 4, 5}), rnd({3, 5, 6})},
      {rnd({2, 1, 4, 5}), rnd({3, 5, 6})}, {rnd({3, 5, 4}).transpose(1, 2), rnd({5, 6})}, {rnd({0, 3, 4}), rnd({4, 2})}, {f, f}, {f, wide({5, 2})}}},
    {{"aten::linear"},
     {{f, rnd({3, 5}), kNone}, {f, rnd({3, 5}), rnd({3})}, {rnd({2, 4, 5}), rnd({3, 5}), rnd({3})}, {rnd({2, 4, 5}), rnd({3, 5}), kNone}, {rnd({2, 2, 4, 5}), rnd({3, 5}), rnd({3})},
      {rnd({5}), rnd({3, 5}), rnd({3})}, {rnd({2, 5, 4}).transpose(1, 2), rnd({3, 5}), rnd({3})}, {rnd({5, 4}).t(), rnd({5, 3}).t(), rnd({3})}, {rnd({0, 5}), rnd({3, 5}), rnd({3})},
      {wide({4, 5}), wide({3, 5}), wide({3})}, {half({4, 5}), half({3, 5}), half({3})}, {f, rnd({3, 4}), kNone}}},
  };
}

std::vector<Row> joining(const Shared& shared) {
  const auto& [f23, f, images, kFloat, kDouble, kLong, kInt] = shared;
  return {
    {{"aten::cat", "aten::concat"},
     {{list({f, rnd({2, 5})}), 0}, {list({f, rnd({4, 1})}), -1}, {list({f, wide({4, 5})}), 0}, {list({whole({3}), rnd({2})}), 0}, {list({images, last({2, 1, 4, 5})}), 1},
      {list({rnd({0}), f}), 0}, {list({rnd({0, 5}), f}), 0}, {list({rnd({5, 4}).t(), f}), 0}, {list({last({2, 1, 4, 5}), last({2, 1, 4, 5})}), 1}, {list({f, rnd({3, 3})}), 0},
      {list({rnd({200, 300}), rnd({200, 300})}), 1}, {list({f, f}), 2}, {list(std::vector<at::Tensor>{}), 0}, {list({bits({3}), bits({2})}), 0}, {list({rnd({}), rnd({})}), 0}}},
    {{"aten::stack"},
     {{list({f, rnd({4, 5})}), 0}, {list({f, rnd({4, 5})}), 1}, {list({f, rnd({4, 5})}), -1}, {list({rnd({}), rnd({})}), 0}, {list({f, wide({4, 5})}), 1}, {list({images, last({2, 3, 4, 5})}), 1},
      {list({bits({1}), bits({1})}), 0}, {list({half({1}), rnd({1})}), 1}, {list({f, rnd({4})}), 0}, {list({f}), 3}}},
  };
}

std::vector<Row> reductions(const Shared& shared) {
  const auto& [f23, f, images, kFloat, kDouble, kLong, kInt] = shared;
  return {
    {{"aten::sum", "aten::mean"}, {{f, kNone}, {f, kDouble}, {whole({4}), kNone}, {whole({4}), kFloat}, {bits({3}), kNone}, {rnd({}), kNone}, {half({4, 5}), kFloat}, {rnd({0}), kNone}}},
    {{"aten::sum.dim_IntList", "aten::mean.dim"},
     {{f, ints({0}), false, kNone}, {f, ints({1}), true, kNone}, {f, kNone, false, kNone}, {rnd({2, 3, 4}), ints({0, -1}), false, kNone}, {f, ints({}), false, kNone}, {images, ints({1}), true, kNone},
      {whole({4, 5}), ints({1}), false, kDouble}, {f, ints({2}), false, kNone}, {gaps(f), ints({0}), false, kNone}}},
    {{"aten::prod.dim_int"}, {{f, 0, false, kNone}, {whole({2, 3}), -1, true, kNone}, {f, 1, false, kDouble}}},
    {{"aten::amax", "aten::amin"}, {{f, ints({0}), false}, {f, ints({}), true}, {whole({2, 3}), ints({0, 1}), false}, {rnd({0, 3}), ints({0}), false}}},
    {{"aten::aminmax"}, {{f, kNone, false}, {f, 1, true}, {whole({4}), 0, false}}},
    {{"aten::max", "aten::min"}, {{f}, {whole({2, 3})}, {bits({4})}, {rnd({0})}, {rnd({})}, {at::tensor({1.0f, NAN})}}},
    {{"aten::max.dim", "aten::min.dim"}, {{f, 0, false}, {f, -1, true}, {whole({2, 3}), 1, false}, {rnd({}), 0, false}, {f, 2, false}, {rnd({5, 4}).t(), 0, false}}},
    {{"aten::argmax", "aten::argmin"}, {{f, kNone, false}, {f, 1, false}, {f, 0, true}, {whole({7}), 0, false}, {rnd({0}), kNone, false}}},
    {{"aten::all", "aten::any"}, {{f}, {bits({3})}, {bits({0})}, {whole({2, 2})}}},
    {{"aten::all.dim", "aten::any.dim"}, {{bits({4, 5}), 0, false}, {f, -1, true}}},
    {{"aten::all.dims", "aten::any.dims"}, {{bits({4, 5}), ints({0, 1}), false}, {f, kNone, true}}},
    {{"aten::norm.Scalar"}, {{f, 2}, {f, 1}, {wide({4}), 3.5}}},
    {{"aten::norm.ScalarOpt_dim"}, {{f, 2, ints({1}), false}, {f, kNone, ints({0}), true}}},
    {{"aten::norm.ScalarOpt_dim_dtype"}, {{f, 2, ints({1}), false, kDouble}}},
    {{"aten::linalg_vector_norm"}, {{f, 2, ints({1}), false, kNone}, {f, INFINITY, kNone, true, kDouble}}},
    {{"aten::cumsum", "aten::cumprod"}, {{f, 0, kNone}, {whole({4, 2}), 1, kNone}, {bits({4}), 0, kNone}, {f, -1, kDouble}, {rnd({}), 0, kNone}, {rnd({5, 4}).t(), 0, kNone}}},
    {{"aten::topk"}, {{f, 2, -1, true, true}, {f, 3, 0, false, true}, {whole({6}), 0, 0, true, true}, {f, 9, 0, true, true}}},
    {{"aten::sort"}, {{f, -1, false}, {f, 0, true}, {rnd({5, 4}).t(), 1, false}, {rnd({}), 0, false}}},
    {{"aten::sort.stable"}, {{whole({20}), true, 0, false}, {f, kNone, 0, true}}},
    {{"aten::var", "aten::std"}, {{f, true}, {wide({7}), false}, {half({9}), true}, {whole({3}), true}}},
    {{"aten::var.dim", "aten::std.dim"}, {{f, ints({0}), true, false}, {rnd({2, 3, 4}), ints({0, 2}), false, true}, {f, kNone, true, false}, {images, ints({2, 3}), true, true}}},
    {{"aten::var.correction", "aten::std.correction"}, {{f, ints({1}), 0, false}, {f, kNone, kNone, true}, {rnd({5, 4}).t(), ints({-1}), 2, true}, {f, ints({3}), 1, false}}},
  };
}

std::vector<Row> normalisation(const Shared& shared) {
  const auto& [f23, f, images, kFloat, kDouble, kLong, kInt] = shared;
  return {
    {{"aten::_softmax", "aten::_log_softmax"}, {{f, 1, false}, {images, 1, false}, {wide({3}), 0, false}, {gaps(f), 0, false}, {whole({3}), 0, false}}},
    {{"aten::softmax.int", "aten::log_softmax.int"}, {{f, -1, kNone}, {f, 0, kDouble}, {whole({4}), 0, kFloat}, {rnd({}), 0, kNone}, {images, 1, kNone}, {f, 1, kFloat}, {half({4, 5}), 1, kFloat}, {f, 2, kNone}, {rnd({5, 4}).t(), 1, kNone}}},
    {{"aten::layer_norm"},
     {{f, ints({5}), rnd({5}), rnd({5}), 1e-5, true}, {rnd({2, 3, 5}), ints({5}), kNone, kNone, 1e-5, true}, {rnd({2, 3, 5}), ints({3, 5}), rnd({3, 5}), kNone, 1e-5, true}, {wide({4, 5}), ints({5}), wide({5}), wide({5}), 1e-3, false},
      {rnd({5, 4}).t(), ints({5}), rnd({5}), rnd({5}), 1e-5, true}, {half({4, 5}), ints({5}), half({5}), half({5}), 1e-5, true}, {rnd({0, 5}), ints({5}), rnd({5}), rnd({5}), 1e-5, true}, {f, ints({4}), kNone, kNone, 1e-5, true}}},
    {{"aten::native_layer_norm"}, {{f, ints({5}), rnd({5}), rnd({5}), 1e-5}, {rnd({2, 3, 5}), ints({3, 5}), kNone, kNone, 1e-5}, {half({4, 5}), ints({5}), kNone, kNone, 1e-5}}},
  };
}

std::vector<Row> look_ups(const Shared& shared) {
  const auto& [f23, f, images, kFloat, kDouble, kLong, kInt] = shared;
  return {
    {{"aten::embedding"}, {{rnd({7, 3}), below(7, {4}), -1, false, false}, {rnd({7, 3}), below(7, {2, 4}).to(at::kInt), 0, false, false}, {half({7, 3}), below(7, {}), -1, false, false}, {rnd({7, 3}), below(7, {0}), -1, false, false},
                           {rnd({7, 3}), at::tensor({7}, at::kLong), -1, false, false}, {rnd({3, 7}).t(), below(7, {2}), -1, false, false}, {rnd({50, 400}), below(50, {300}), -1, false, false}, {rnd({7, 3}), f, -1, false, false}}},
    {{"aten::gather"}, {{f, 1, below(5, {4, 2}), false}, {f, 0, below(4, {2, 5}), false}, {f, 1, at::full({4, 1}, 5, at::kLong), false}}},
    {{"aten::index_select"}, {{f, 0, below(4, {3})}, {f, -1, below(5, {2}).to(at::kInt)}, {rnd({5, 4}).t(), 0, below(4, {3})}, {rnd({}), 0, below(1, {1})}, {f, 0, below(4, {})}, {f, 0, at::tensor({4}, at::kLong)}}},
    {{"aten::index.Tensor"}, {{f, maybe({below(4, {3})})}, {f, maybe({std::nullopt, below(5, {2, 2})})}, {f, maybe({bits({4, 5})})}, {f, maybe({below(4, {3}), below(5, {3})})}, {images, maybe({std::nullopt, below(3, {2})})}, {f, maybe({at::tensor({9}, at::kLong)})}}},
    {{"aten::scatter.src", "aten::scatter_add"}, {{f, 1, below(5, {4, 2}).fill_(1).cumsum(1), rnd({4, 2})}, {rnd({5, 4}).t(), 0, below(4, {1, 5}), rnd({1, 5})}}},
    {{"aten::scatter.value"}, {{f, 1, below(5, {4, 2}), 2.5}}},
  };
}

std::vector<Row> factories(const Shared& shared) {
  const auto& [f23, f, images, kFloat, kDouble, kLong, kInt] = shared;
  return {
    {{"aten::zeros", "aten::ones"}, {{ints({2, 3}), kNone, kNone, kNone, kNone}, {ints({}), kLong, kNone, at::Device("cpu"), false}, {ints({0, 2}), number_of(at::kBool), kNone, kNone, kNone}, {ints({200, 200}), kFloat, kNone, kNone, kNone}, {ints({-1}), kNone, kNone, kNone, kNone}}},
    {{"aten::full"}, {{ints({2, 3}), 2, kNone, kNone, kNone, kNone}, {ints({2}), 0.5, kNone, kNone, kNone, kNone}, {ints({2}), true, kNone, kNone, kNone, kNone}, {ints({2}), 1, kFloat, kNone, kNone, kNone}}},
    {{"aten::new_zeros", "aten::new_ones"}, {{f, ints({3}), kNone, kNone, kNone, kNone}, {whole({2}), ints({3}), kNone, kNone, kNone, kNone}, {f, ints({2, 2}), kLong, kNone, kNone, kNone}}},
    {{"aten::new_full"}, {{f, ints({3}), 7, kNone, kNone, kNone, kNone}, {f, ints({3}), 7.5, kInt, kNone, kNone, kNone}}},
    {{"aten::zeros_like", "aten::ones_like"}, {{f, kNone, kNone, kNone, kNone, kNone}, {images, kLong, kNone, kNone, kNone, kNone}, {gaps(f), kNone, kNone, kNone, kNone, kNone}, {rnd({5, 4}).t(), kNone, kNone, kNone, kNone, kNone}, {images, kNone, kNone, kNone, kNone, format(at::MemoryFormat::Contiguous)}}},
    {{"aten::full_like"}, {{f, 3, kNone, kNone, kNone, kNone, kNone}, {whole({3}), 2.5, kDouble, kNone, kNone, kNone, kNone}}},
    {{"aten::arange"}, {{5, kNone, kNone, kNone, kNone}, {4.5, kNone, kNone, kNone, kNone}, {3, kFloat, kNone, kNone, kNone}, {0, kNone, kNone, kNone, kNone}, {-1, kNone, kNone, kNone, kNone}}},
    {{"aten::arange.start"}, {{2, 7, kNone, kNone, kNone, kNone}, {0.5, 4, kNone, kNone, kNone, kNone}}},
    {{"aten::arange.start_step"}, {{2, 9, 3, kNone, kNone, kNone, kNone}, {9, 2, -2, kNone, kNone, kNone, kNone}, {0, 1, 0.1, kNone, kNone, kNone, kNone}, {0, 5, 2, kFloat, kNone, kNone, kNone}, {0, 5.5, 2, kLong, kNone, kNone, kNone}, {0, 5, 0, kNone, kNone, kNone, kNone}, {0, 7, 2, kInt, kNone, kNone, kNone}}},
    {{"aten::zero_"}, {{f}, {gaps(f)}, {whole({3})}, {rnd({0})}}},
    {{"aten::fill_.Scalar"}, {{f, 2}, {gaps(f), 0.5}, {whole({3}), 4}}},
  };
}

std::vector<Row> copies(const Shared& shared) {
  const auto& [f23, f, images, kFloat, kDouble, kLong, kInt] = shared;
  return {
    {{"aten::clone"}, {{f, kNone}, {images, kNone}, {images, format(at::MemoryFormat::Contiguous)}, {gaps(f), kNone}, {rnd({2, 3, 4, 5}), kChannelsLast}, {f.expand({3, 4, 5}), kNone}, {rnd({}), kNone}, {bits({3}), kNone}}},
    {{"aten::contiguous"}, {{f, format(at::MemoryFormat::Contiguous)}, {rnd({5, 4}).t(), format(at::MemoryFormat::Contiguous)}, {rnd({2, 3, 4, 5}), kChannelsLast}, {images, kChannelsLast}}},
    {{"aten::flatten.using_ints"}, {{rnd({2, 3, 4}), 0, -1}, {rnd({2, 3, 4}), 1, 2}, {rnd({2, 3, 4}).transpose(1, 2), 1, 2}, {rnd({}), 0, -1}, {f, 1, 1}, {f, 1, 0}, {images, 1, -1}}},
    {{"aten::reshape"}, {{f, ints({20})}, {f, ints({2, -1})}, {rnd({5, 4}).t(), ints({20})}, {rnd({5, 4}).t(), ints({2, 2, 5})}, {f, ints({3, -1})}, {rnd({0, 3}), ints({3, 0})}, {images, ints({2, -1})}, {f.expand({3, 4, 5}), ints({-1})}}},
    {{"aten::to.dtype"}, {{f, kDouble, false, false, kNone}, {f, kFloat, false, false, kNone}, {f, kFloat, false, true, kNone}, {images, kLong, false, false, kNone}, {gaps(f), kDouble, false, false, kNone}, {rnd({2, 3, 4, 5}), kFloat, false, false, kChannelsLast}, {bits({3}), kFloat, false, false, kNone},
                          {rnd({5, 8}).t().slice(0, 0, 8, 2), kDouble, false, false, kNone}}},
    {{"aten::to.dtype_layout"}, {{f, kDouble, kNone, at::Device("cpu"), kNone, false, false, kNone}, {f, kNone, kNone, kNone, kNone, false, true, kNone}}},
    {{"aten::to.device"}, {{f, at::Device("cpu"), kDouble, false, false, kNone}, {f, at::Device("cpu"), kFloat, false, true, kNone}}},
    {{"aten::to.other"}, {{f, whole({2}), false, false, kNone}, {f, rnd({2}), false, false, kNone}}},
    {{"aten::to.prim_Device"}, {{f, at::Device("cpu"), kNone, false, false}, {f, kNone, kDouble, false, false}}},
    {{"aten::to.prim_dtype"}, {{f, kNone, false, false}, {f, kLong, false, false}}},
    {{"aten::type_as"}, {{f, wide({2})}, {f, rnd({1})}}},
    {{"aten::copy_"}, {{f, rnd({5}), false}, {rnd({5, 4}).t(), whole({4, 5}), false}, {f, rnd({3}), false}}},
  };
}

std::vector<Row> views(const Shared& shared) {
  const auto& [f23, f, images, kFloat, kDouble, kLong, kInt] = shared;
  return {
    {{"aten::alias", "aten::detach", "aten::squeeze"}, {{f}, {rnd({1, 3, 1})}, {gaps(f)}, {rnd({})}, {rnd({1, 3}).t()}}},
    {{"aten::t"}, {{f}, {rnd({3})}, {rnd({})}, {rnd({2, 2, 2})}}},
    {{"aten::chunk", "aten::split.Tensor"}, {{rnd({7, 2}), 3, 0}, {rnd({7, 2}), 9, 0}, {rnd({4, 7}), 2, -1}, {rnd({0, 2}), 2, 0}, {f, 0, 0}, {f, 2, 2}}},
    {{"aten::expand"}, {{rnd({3, 1}), ints({3, 4}), false}, {rnd({3, 1}), ints({2, -1, 4}), false}, {rnd({}), ints({2}), false}, {rnd({3}), ints({1, 3}), false}, {f, ints({4, 6}), false}, {f, ints({-1, 4, 5}), false}, {rnd({2}), ints({2, 1, 2}), false}}},
    {{"aten::expand_as"}, {{rnd({3, 1}), rnd({3, 4})}, {f, rnd({3})}}},
    {{"aten::narrow"}, {{f, 1, 1, 3}, {f, -1, -2, 2}, {f, 0, 4, 0}, {f, 0, 3, 2}}},
    {{"aten::permute"}, {{rnd({2, 3, 4}), ints({2, 0, 1})}, {rnd({2, 3, 4}), ints({-1, 0, 1})}, {f, ints({0, 0})}, {f, ints({0})}, {rnd({}), ints({})}}},
    {{"aten::select.int"}, {{f, 0, 2}, {f, -1, -1}, {f, 0, 4}, {rnd({}), 0, 0}}},
    {{"aten::slice.Tensor"}, {{f, 0, 1, 3, 1}, {f, 1, kNone, kNone, 2}, {f, 1, -3, 100, 1}, {f, 0, 3, 1, 1}, {f, 0, 0, INT64_MAX, 1}, {f, 0, 0, 4, 0}, {f, 2, 0, 1, 1}}},
    {{"aten::split.sizes", "aten::split_with_sizes"}, {{rnd({7, 2}), ints({3, 4}), 0}, {rnd({7, 2}), ints({3, 3}), 0}, {rnd({2, 5}), ints({0, 5}), -1}, {f, ints({5, -1}), 0}}},
    {{"aten::squeeze.dim"}, {{rnd({1, 3}), 0}, {rnd({1, 3}), 1}, {rnd({}), 0}, {f, 2}}},
    {{"aten::squeeze.dims"}, {{rnd({1, 3, 1}), ints({0, -1})}, {rnd({1, 3}), ints({1})}, {f, ints({0, 0})}}},
    {{"aten::swapaxes", "aten::swapdims", "aten::transpose.int"}, {{f, 0, 1}, {rnd({2, 3, 4}), -1, 0}, {rnd({}), 0, -1}, {f, 0, 2}}},
    {{"aten::unbind.int"}, {{f, 0}, {f, -1}, {rnd({0, 2}), 0}, {rnd({}), 0}}},
    {{"aten::unsqueeze"}, {{f, 0}, {f, 2}, {f, -1}, {f, 3}, {rnd({}), 0}, {rnd({5, 4}).t(), 1}}},
    {{"aten::view"}, {{f, ints({20})}, {f, ints({2, 2, -1})}, {rnd({5, 4}).t(), ints({20})}, {f, ints({3})}, {rnd({0}), ints({0, 5})}}},
    {{"aten::view_as"}, {{f, rnd({20})}, {f, rnd({2})}}},
  };
}

std::vector<Row> facts(const Shared& shared) {
  const auto& [f23, f, images, kFloat, kDouble, kLong, kInt] = shared;
  return {
    {{"aten::size", "aten::dim", "aten::numel", "aten::len.Tensor", "aten::is_contiguous", "aten::is_floating_point", "aten::is_complex", "aten::storage_offset", "prim::data", "prim::device", "prim::dtype", "prim::layout", "prim::is_cuda"},
     {{f}, {gaps(f)}, {rnd({})}, {whole({0, 2})}, {f.to_sparse()}}},
    {{"aten::size.int", "aten::stride.int"}, {{f, 0}, {f, -1}, {f, 2}, {rnd({}), 0}}},
    {{"aten::item", "aten::Int.Tensor", "aten::Float.Tensor", "aten::Bool.Tensor"}, {{rnd({})}, {whole({1})}, {bits({1, 1})}, {f}, {wide({1})}}},
    {{"aten::IntImplicit", "aten::FloatImplicit", "aten::ScalarImplicit"}, {{whole({})}, {rnd({})}, {rnd({1})}}},
    {{"aten::Int.Scalar", "aten::Float.Scalar"}, {{2}, {2.5}, {true}}},
    {{"aten::Bool.float", "aten::Int.float", "aten::neg.float"}, {{2.5}, {0.0}, {-1.5}}},
    {{"aten::Bool.int", "aten::Float.int", "aten::neg.int"}, {{2}, {0}, {INT64_MIN}}},
    {{"aten::Float.bool", "aten::Int.bool", "aten::__not__"}, {{true}, {false}}},
    {{"aten::__and__.bool", "aten::__or__.bool", "aten::eq.bool", "aten::ne.bool"}, {{true, false}, {true, true}, {false, false}}},
    {{"aten::eq.str", "aten::ne.str"}, {{"a", "b"}, {"a", "a"}}},
    {{"aten::__is__", "aten::__isnot__"}, {{kNone, kNone}, {f, kNone}, {1, 1}}},
    {{"aten::__range_length"}, {{0, 7, 2}, {7, 0, -2}, {0, 0, 1}, {3, 1, 1}, {0, 1, 0}}},
    {{"aten::__derive_index"}, {{3, 2, 5}, {0, 9, -1}}},
    {{"aten::add.int", "aten::sub.int", "aten::mul.int", "aten::div.int", "aten::floordiv.int", "aten::remainder.int", "aten::eq.int", "aten::ne.int", "aten::lt.int", "aten::le.int", "aten::gt.int", "aten::ge.int", "prim::min.int", "prim::max.int"},
     {{7, 2}, {-7, 2}, {7, -2}, {-7, -2}, {0, 3}, {3, 3}}},
    {{"aten::add.float", "aten::sub.float", "aten::mul.float", "aten::div.float", "aten::eq.float", "aten::ne.float", "aten::lt.float", "aten::le.float", "aten::gt.float", "aten::ge.float", "prim::min.float", "prim::max.float"},
     {{7.5, 2.0}, {-7.0, 2.5}, {1.0, 1.0}, {1.0, 0.0}, {1.0, NAN}, {NAN, 1.0}}},
    {{"aten::add.int_float", "aten::sub.int_float", "aten::mul.int_float", "aten::eq.int_float", "aten::ne.int_float", "aten::lt.int_float", "aten::le.int_float", "aten::gt.int_float", "aten::ge.int_float"}, {{7, 2.5}, {2, 2.0}}},
    {{"aten::add.float_int", "aten::sub.float_int", "aten::mul.float_int", "aten::eq.float_int", "aten::ne.float_int", "aten::lt.float_int", "aten::le.float_int", "aten::gt.float_int", "aten::ge.float_int"}, {{7.5, 2}, {2.0, 2}}},
    {{"prim::NumToTensor.Scalar"}, {{2}, {2.5}}},
  };
}

std::vector<Row> containers(const Shared& shared) {
  const auto& [f23, f, images, kFloat, kDouble, kLong, kInt] = shared;
  return {
    {{"aten::__getitem__.t"}, {{ints({4, 5}), 1}, {ints({4, 5}), -2}, {ints({4}), 1}, {list({f}), 0}}},
    {{"aten::append.t"}, {{ints({4}), 5}, {list({f}), f23}}},
    {{"aten::len.t"}, {{ints({4, 5})}, {list(std::vector<at::Tensor>{})}}},
    {{"aten::__contains__.int_list"}, {{ints({4, 5}), 5}, {ints({}), 5}}},
  };
}

// clang-format on

std::vector<Row> rows() {
  at::manual_seed(0);
  const Shared shared;
  std::vector<Row> all;
  for (auto* family : {pointwise, matrices, joining, reductions, normalisation, look_ups, factories, copies, views,
                       facts, containers}) {
    for (Row& row : family(shared)) all.push_back(std::move(row));
  }
  return all;
}

class Ops : public ::testing::TestWithParam<OneKey> {};

TEST_P(Ops, are_like_libtorch) { expect_like_libtorch(GetParam().key, GetParam().samples); }

INSTANTIATE_TEST_SUITE_P(All, Ops, ::testing::ValuesIn(by_key(rows())),
                         [](const auto& info) { return name_of(info.param.key) + "_" + std::to_string(info.index); });

}  // namespace
}  // namespace stator::test
