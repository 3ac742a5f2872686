#include "ops_frame.h"

namespace stator::test {
namespace {

const std::vector<at::ScalarType> kDtypes = {at::kFloat, at::kDouble, at::kLong, at::kBool, at::kHalf};

at::Tensor sample(at::IntArrayRef sizes, at::ScalarType dtype) {
  at::Tensor values = at::randn(sizes) * 3;
  return dtype == at::kBool ? values > 0 : values.to(dtype);
}

// Empty, without dimensions, contiguous, transposed, with gaps, channels-last, long.
std::vector<at::Tensor> tensors() {
  std::vector<at::Tensor> all;
  for (at::ScalarType dtype : kDtypes) {
    all.push_back(sample({0, 3}, dtype));
    all.push_back(sample({}, dtype));
    all.push_back(sample({4, 5}, dtype));
    all.push_back(sample({5, 4}, dtype).t());
    all.push_back(sample({4, 10}, dtype).slice(1, 0, 10, 2));
    all.push_back(sample({2, 3, 4, 4}, dtype).contiguous(at::MemoryFormat::ChannelsLast));
  }
  all.push_back(sample({3, 2000}, at::kFloat));
  at::Tensor special = at::tensor({0.0f, -0.0f, NAN, INFINITY, -INFINITY, 1.5f, -1.5f, 7.0f});
  all.push_back(special);
  return all;
}

std::vector<std::pair<at::Tensor, at::Tensor>> pairs() {
  std::vector<std::pair<at::Tensor, at::Tensor>> all;
  for (const at::Tensor& tensor : tensors()) all.emplace_back(tensor, tensor.flip({}).clone());
  for (at::ScalarType a : kDtypes) {
    for (at::ScalarType b : kDtypes) {
      all.emplace_back(sample({4, 5}, a), sample({4, 5}, b));
      all.emplace_back(sample({4, 5}, a), sample({}, b));
    }
  }
  all.emplace_back(sample({4, 1}, at::kFloat), sample({1, 5}, at::kFloat));
  all.emplace_back(sample({2, 4, 5}, at::kFloat), sample({5}, at::kFloat));
  all.emplace_back(sample({5}, at::kFloat), sample({2, 4, 5}, at::kFloat));
  all.emplace_back(sample({1, 1}, at::kFloat), sample({3}, at::kFloat));
  all.emplace_back(sample({2, 3, 4, 4}, at::kFloat).contiguous(at::MemoryFormat::ChannelsLast),
                   sample({3, 1, 1}, at::kFloat));
  all.emplace_back(sample({4}, at::kFloat), sample({5}, at::kFloat));
  return all;
}

const std::vector<at::Scalar> kNumbers = {2, -3, 0.5, true, 0};

// The arguments after the tensors: their defaults, or values where there is none.
Arguments rest(const Operator& op, size_t from) {
  Arguments values;
  for (size_t i = from; i < op.schema.arguments().size(); ++i) {
    const auto& argument = op.schema.arguments()[i];
    if (argument.default_value()) values.push_back(*argument.default_value());
    else if (argument.type()->kind() == c10::TypeKind::NumberType) values.emplace_back(1);
    else if (argument.type()->kind() == c10::TypeKind::OptionalType) values.emplace_back("floor");
    else values.emplace_back(int64_t{0});
  }
  return values;
}

void append(Arguments& arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
}

bool is_tensor(const Operator& op, size_t i) {
  return i < op.schema.arguments().size() && op.schema.arguments()[i].type()->kind() == c10::TypeKind::TensorType;
}
bool is_number(const Operator& op, size_t i) {
  return i < op.schema.arguments().size() && op.schema.arguments()[i].type()->kind() == c10::TypeKind::NumberType;
}

void expect_unary(const Operator& op) {
  std::vector<Arguments> samples;
  for (const at::Tensor& tensor : tensors()) {
    samples.push_back({tensor});
    append(samples.back(), rest(op, 1));
  }
  expect_like_libtorch(op.key, samples);
}

void expect_tensor_number(const Operator& op) {
  std::vector<Arguments> samples;
  for (const at::Tensor& tensor : tensors()) {
    for (const at::Scalar& number : kNumbers) {
      samples.push_back({tensor, number});
      append(samples.back(), rest(op, 2));
    }
  }
  expect_like_libtorch(op.key, samples);
}

void expect_binary(const Operator& op) {
  std::vector<Arguments> samples;
  for (const auto& [a, b] : pairs()) {
    samples.push_back({a, b});
    append(samples.back(), rest(op, 2));
  }
  expect_like_libtorch(op.key, samples);
}

// Those whose first arguments are the tensors and numbers of the sample tables, told by their schemas.
// clang-format off
const std::vector<std::string> kKeys = {
    "aten::__and__.Scalar", "aten::__and__.Tensor", "aten::__or__.Scalar", "aten::__or__.Tensor", "aten::__xor__.Scalar",
    "aten::__xor__.Tensor", "aten::abs", "aten::acos", "aten::acos_", "aten::acosh", "aten::acosh_", "aten::add.Scalar",
    "aten::add.Tensor", "aten::add_.Scalar", "aten::add_.Tensor", "aten::arccos", "aten::arcsin", "aten::arctan", "aten::asin",
    "aten::asin_", "aten::asinh", "aten::asinh_", "aten::atan", "aten::atan2", "aten::atan_", "aten::atanh", "aten::atanh_",
    "aten::bitwise_and.Scalar", "aten::bitwise_and.Tensor", "aten::bitwise_and_.Scalar", "aten::bitwise_and_.Tensor",
    "aten::bitwise_left_shift.Tensor", "aten::bitwise_left_shift.Tensor_Scalar", "aten::bitwise_not", "aten::bitwise_not_",
    "aten::bitwise_or.Scalar", "aten::bitwise_or.Tensor", "aten::bitwise_or_.Scalar", "aten::bitwise_or_.Tensor",
    "aten::bitwise_right_shift.Tensor", "aten::bitwise_right_shift.Tensor_Scalar", "aten::bitwise_xor.Scalar",
    "aten::bitwise_xor.Tensor", "aten::bitwise_xor_.Scalar", "aten::bitwise_xor_.Tensor", "aten::ceil", "aten::ceil_",
    "aten::clamp_max", "aten::clamp_max.Tensor", "aten::clamp_max_", "aten::clamp_min", "aten::clamp_min.Tensor", "aten::clamp_min_",
    "aten::copysign.Tensor", "aten::cos", "aten::cos_", "aten::cosh", "aten::cosh_", "aten::digamma", "aten::digamma_",
    "aten::div.Scalar", "aten::div.Scalar_mode", "aten::div.Tensor", "aten::div.Tensor_mode", "aten::div_.Scalar",
    "aten::div_.Scalar_mode", "aten::div_.Tensor", "aten::div_.Tensor_mode", "aten::divide.Scalar", "aten::divide.Tensor",
    "aten::elu", "aten::elu_", "aten::eq.Scalar", "aten::eq.Tensor", "aten::eq_.Scalar", "aten::eq_.Tensor", "aten::erf",
    "aten::erf_", "aten::erfc", "aten::erfc_", "aten::erfinv", "aten::erfinv_", "aten::exp", "aten::exp2", "aten::exp2_",
    "aten::exp_", "aten::expm1", "aten::expm1_", "aten::fix", "aten::floor", "aten::floor_", "aten::floor_divide",
    "aten::floor_divide.Scalar", "aten::fmax", "aten::fmin", "aten::fmod.Scalar", "aten::fmod.Tensor", "aten::fmod_.Scalar",
    "aten::fmod_.Tensor", "aten::frac", "aten::frac_", "aten::gcd", "aten::ge.Scalar", "aten::ge.Tensor", "aten::ge_.Scalar",
    "aten::ge_.Tensor", "aten::gelu", "aten::gelu_", "aten::gt.Scalar", "aten::gt.Tensor", "aten::gt_.Scalar", "aten::gt_.Tensor",
    "aten::hardshrink", "aten::hardsigmoid", "aten::hardsigmoid_", "aten::hardswish", "aten::hardswish_", "aten::hardtanh",
    "aten::hardtanh_", "aten::heaviside", "aten::hypot", "aten::isnan", "aten::isneginf", "aten::isposinf", "aten::lcm",
    "aten::le.Scalar", "aten::le.Tensor", "aten::le_.Scalar", "aten::le_.Tensor", "aten::leaky_relu", "aten::leaky_relu_",
    "aten::lgamma", "aten::lgamma_", "aten::log", "aten::log10", "aten::log10_", "aten::log1p", "aten::log1p_", "aten::log2",
    "aten::log2_", "aten::log_", "aten::logaddexp", "aten::logaddexp2", "aten::logical_and", "aten::logical_not", "aten::logical_or",
    "aten::logical_xor", "aten::logit", "aten::lt.Scalar", "aten::lt.Tensor", "aten::lt_.Scalar", "aten::lt_.Tensor",
    "aten::max.other", "aten::maximum", "aten::min.other", "aten::minimum", "aten::mish", "aten::mish_", "aten::mul.Scalar",
    "aten::mul.Tensor", "aten::mul_.Scalar", "aten::mul_.Tensor", "aten::multiply.Scalar", "aten::multiply.Tensor",
    "aten::nan_to_num", "aten::ne.Scalar", "aten::ne.Tensor", "aten::ne_.Scalar", "aten::ne_.Tensor", "aten::neg", "aten::neg_",
    "aten::negative", "aten::nextafter", "aten::pow.Tensor_Scalar", "aten::pow.Tensor_Tensor", "aten::pow_.Scalar",
    "aten::pow_.Tensor", "aten::reciprocal", "aten::reciprocal_", "aten::relu", "aten::relu6", "aten::relu_",
    "aten::remainder.Scalar", "aten::remainder.Tensor", "aten::remainder_.Scalar", "aten::remainder_.Tensor", "aten::round",
    "aten::round_", "aten::rsqrt", "aten::rsqrt_", "aten::rsub.Scalar", "aten::rsub.Tensor", "aten::sgn", "aten::sgn_",
    "aten::sigmoid", "aten::sigmoid_", "aten::sign", "aten::sign_", "aten::signbit", "aten::silu", "aten::silu_", "aten::sin",
    "aten::sin_", "aten::sinh", "aten::sinh_", "aten::softplus", "aten::softshrink", "aten::sqrt", "aten::sqrt_", "aten::square",
    "aten::sub.Scalar", "aten::sub.Tensor", "aten::sub_.Scalar", "aten::sub_.Tensor", "aten::subtract.Scalar",
    "aten::subtract.Tensor", "aten::tan", "aten::tan_", "aten::tanh", "aten::tanh_", "aten::true_divide.Scalar",
    "aten::true_divide.Tensor", "aten::trunc", "aten::trunc_", "aten::xlogy.Tensor",
};
// clang-format on

class PointwiseOps : public ::testing::TestWithParam<std::string> {};

TEST_P(PointwiseOps, are_like_libtorch) {
  const Operator* op = find_operator(GetParam());
  ASSERT_NE(op, nullptr);
  if (is_tensor(*op, 1)) expect_binary(*op);
  else if (is_number(*op, 1) && !op->schema.arguments()[1].default_value()) expect_tensor_number(*op);
  else expect_unary(*op);
}

INSTANTIATE_TEST_SUITE_P(All, PointwiseOps, ::testing::ValuesIn(kKeys),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace stator::test
