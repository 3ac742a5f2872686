// Layers, in-place operators, containers and numbers that LibTorch's C++ functions or functions of ours run.
#include "ops_samples.h"

namespace stator::test {
namespace {

c10::IValue floats(std::vector<double> values) { return c10::IValue(std::move(values)); }
c10::IValue flags(std::initializer_list<bool> values) { return c10::List<bool>(values); }
c10::IValue strings(std::vector<std::string> values) { return c10::IValue(std::move(values)); }

c10::IValue dict(std::vector<std::pair<std::string, int64_t>> entries) {
  c10::Dict<std::string, int64_t> made;
  for (auto& [key, value] : entries) made.insert(key, value);
  return made;
}

// clang-format off

std::vector<Row> convolutions() {
  const c10::IValue one = ints({1}), none = ints({0}), two = ints({1, 1}), no = ints({0, 0}), three = ints({1, 1, 1}), zeros = ints({0, 0, 0});
  return {
    {{"aten::conv1d"}, {{rnd({2, 3, 9}), rnd({4, 3, 3}), rnd({4}), one, none, one, 1}, {rnd({2, 3, 9}), rnd({3, 1, 3}), kNone, ints({2}), one, one, 3}, {rnd({3, 9}), rnd({4, 3, 3}), kNone, one, none, one, 1}, {rnd({2, 2, 9}), rnd({4, 3, 3}), kNone, one, none, one, 1}}},
    {{"aten::conv2d"}, {{rnd({2, 3, 8, 7}), rnd({4, 3, 3, 3}), rnd({4}), two, no, two, 1}, {last({2, 3, 8, 7}), rnd({4, 3, 3, 3}), kNone, ints({2, 2}), two, two, 1}, {wide({1, 3, 5, 5}), wide({3, 1, 3, 3}), kNone, two, two, two, 3}}},
    {{"aten::conv2d.padding"}, {{rnd({2, 3, 8, 7}), rnd({4, 3, 3, 3}), rnd({4}), two, "same", two, 1}}},
    {{"aten::conv3d"}, {{rnd({1, 2, 4, 5, 6}), rnd({3, 2, 2, 2, 2}), kNone, three, zeros, three, 1}}},
    {{"aten::convolution"}, {{rnd({2, 3, 8, 7}), rnd({3, 4, 3, 3}), rnd({4}), two, no, two, true, no, 1}}},
    {{"aten::_convolution"}, {{rnd({2, 3, 8, 7}), rnd({4, 3, 3, 3}), rnd({4}), two, no, two, false, no, 1, false, false, true, true}}},
    {{"aten::conv_transpose2d.input"}, {{rnd({2, 3, 4, 4}), rnd({3, 4, 3, 3}), rnd({4}), ints({2, 2}), no, no, 1, two}}},
    {{"aten::prelu"}, {{rnd({2, 3, 4}), rnd({3})}, {rnd({2, 3}), rnd({1})}}},
    {{"aten::scaled_dot_product_attention"}, {{rnd({2, 2, 5, 4}), rnd({2, 2, 6, 4}), rnd({2, 2, 6, 4}), kNone, 0.0, false, kNone, false}, {rnd({2, 2, 5, 4}), rnd({2, 2, 5, 4}), rnd({2, 2, 5, 4}), kNone, 0.0, true, 0.5, false}, {rnd({1, 2, 3, 4}), rnd({1, 2, 3, 4}), rnd({1, 2, 3, 4}), bits({1, 1, 3, 3}), 0.0, false, kNone, false}}},
  };
}

std::vector<Row> normalisation() {
  const auto positive = [](at::IntArrayRef sizes) { return at::rand(sizes) + 0.1; };
  return {
    {{"aten::batch_norm"},
     {{rnd({2, 3, 4, 5}), rnd({3}), rnd({3}), rnd({3}), positive({3}), false, 0.1, 1e-5, true}, {last({2, 3, 4, 5}), rnd({3}), kNone, rnd({3}), positive({3}), false, 0.1, 1e-5, true}, {rnd({6, 3}), kNone, kNone, rnd({3}), positive({3}), false, 0.1, 1e-3, false},
      {wide({2, 3, 4}), wide({3}), wide({3}), wide({3}), positive({3}).to(at::kDouble), false, 0.1, 1e-5, true}, {rnd({2, 3, 4, 5}).transpose(2, 3), rnd({3}), rnd({3}), rnd({3}), positive({3}), false, 0.1, 1e-5, true}, {rnd({0, 3, 4}), rnd({3}), rnd({3}), rnd({3}), positive({3}), false, 0.1, 1e-5, true},
      {rnd({2, 3, 4}), rnd({2}), kNone, rnd({3}), positive({3}), false, 0.1, 1e-5, true}, {rnd({2, 3, 4}), rnd({3}), rnd({3}), rnd({3}), positive({3}), true, 0.1, 1e-5, true}, {half({2, 3, 4, 4}), rnd({3}), rnd({3}), rnd({3}), positive({3}), false, 0.1, 1e-5, true},
      {rnd({4, 3, 5, 6}).slice(3, 0, 6, 2), rnd({3}), rnd({3}), rnd({3}), positive({3}), false, 0.1, 1e-5, true}, {rnd({2, 3, 4}), rnd({3}), rnd({3}), kNone, kNone, true, 0.1, 1e-5, true}}},
    {{"aten::instance_norm"}, {{rnd({2, 3, 4, 5}), rnd({3}), rnd({3}), kNone, kNone, true, 0.1, 1e-5, true}}},
    {{"aten::group_norm"}, {{rnd({2, 4, 5}), 2, rnd({4}), rnd({4}), 1e-5, true}, {last({2, 4, 5, 3}), 4, kNone, kNone, 1e-5, true}}},
    {{"aten::rms_norm"}, {{rnd({2, 4}), ints({4}), rnd({4}), kNone}}},
    {{"aten::dropout", "aten::feature_dropout", "aten::alpha_dropout"}, {{rnd({3, 4}), 0.5, false}, {rnd({3, 4}), 0.0, true}, {rnd({3, 4}), 1.5, false}}},
  };
}

std::vector<Row> pooling() {
  const c10::IValue two = ints({2, 2}), one = ints({1, 1}), no = ints({0, 0}), by_default = ints({});
  return {
    {{"aten::max_pool1d"}, {{rnd({2, 3, 8}), ints({2}), by_default, ints({0}), ints({1}), false}}},
    {{"aten::max_pool2d"}, {{rnd({2, 3, 8, 6}), two, by_default, no, one, false}, {last({2, 3, 8, 6}), ints({3, 3}), two, one, one, true}, {rnd({3, 8, 6}), two, by_default, no, one, false}}},
    {{"aten::avg_pool2d"}, {{rnd({2, 3, 8, 6}), two, by_default, no, false, true, kNone}, {last({2, 3, 8, 6}), ints({3, 3}), two, one, true, false, kNone}, {wide({3, 8, 6}), two, by_default, no, false, true, 3}, {rnd({2, 3}), two, by_default, no, false, true, kNone}}},
    {{"aten::adaptive_avg_pool2d"}, {{rnd({2, 3, 8, 6}), one}, {last({2, 3, 8, 6}), one}, {rnd({2, 3, 8, 6}), ints({3, 2})}}},
    {{"aten::adaptive_max_pool2d"}, {{rnd({2, 3, 8, 6}), one}, {last({2, 3, 8, 6}), two}}},
    {{"aten::avg_pool1d"}, {{rnd({2, 3, 8}), ints({2}), ints({2}), ints({0}), false, true}}},
    {{"aten::upsample_nearest2d"}, {{rnd({1, 2, 3, 4}), ints({6, 8}), kNone, kNone}, {last({1, 2, 3, 4}), ints({5, 5}), kNone, kNone}}},
    {{"aten::upsample_nearest2d.vec"}, {{rnd({1, 2, 3, 4}), kNone, floats({2.0, 2.0})}}},
    {{"aten::upsample_bilinear2d"}, {{rnd({1, 2, 3, 4}), ints({6, 8}), false, kNone, kNone}, {last({1, 2, 3, 4}), ints({5, 5}), true, kNone, kNone}}},
    {{"aten::pad"}, {{rnd({1, 2, 3, 4}), ints({1, 1, 2, 0}), "constant", kNone}, {rnd({1, 2, 5}), ints({2, 1}), "reflect", kNone}, {rnd({2, 5}), ints({0, 0}), "constant", 1.0}}},
    {{"aten::constant_pad_nd"}, {{rnd({2, 3}), ints({1, 2}), 0}, {last({1, 2, 3, 4}), ints({1, 1}), 0.5}, {whole({3}), ints({-1, 1}), 7}}},
    {{"aten::reflection_pad1d", "aten::replication_pad1d"}, {{rnd({2, 3, 5}), ints({2, 1})}, {wide({3, 5}), ints({0, 1})}}},
    {{"aten::grid_sampler"}, {{rnd({1, 2, 4, 5}), at::rand({1, 3, 3, 2}) * 2 - 1, 0, 0, false}}},
    {{"aten::pixel_shuffle"}, {{rnd({1, 8, 2, 3}), 2}}},
  };
}

std::vector<Row> recurrent() {
  const auto layer = [](int64_t gates) { return list({rnd({gates * 4, 3}), rnd({gates * 4, 4}), rnd({gates * 4}), rnd({gates * 4})}); };
  return {
    {{"aten::lstm.input"}, {{rnd({5, 2, 3}), list({rnd({1, 2, 4}), rnd({1, 2, 4})}), layer(4), true, 1, 0.0, false, false, false}, {rnd({2, 5, 3}), list({rnd({1, 2, 4}), rnd({1, 2, 4})}), layer(4), true, 1, 0.0, false, false, true}}},
    {{"aten::gru.input"}, {{rnd({5, 2, 3}), rnd({1, 2, 4}), layer(3), true, 1, 0.0, false, false, false}}},
    {{"aten::rnn_tanh.input", "aten::rnn_relu.input"}, {{rnd({5, 2, 3}), rnd({1, 2, 4}), layer(1), true, 1, 0.0, false, false, false}}},
    {{"aten::lstm_cell"}, {{rnd({2, 3}), list({rnd({2, 4}), rnd({2, 4})}), rnd({16, 3}), rnd({16, 4}), rnd({16}), rnd({16})}}},
    {{"aten::gru_cell"}, {{rnd({2, 3}), rnd({2, 4}), rnd({12, 3}), rnd({12, 4}), rnd({12}), kNone}}},
    {{"aten::embedding_bag"}, {{rnd({9, 4}), below(9, {6}), at::tensor({0, 2, 5}, at::kLong), false, 0, false, kNone, false}}},
    {{"aten::_pack_padded_sequence"}, {{rnd({5, 3, 2}), at::tensor({5, 3, 2}, at::kLong), false}}},
  };
}

std::vector<Row> indexing() {
  const at::Tensor f = rnd({4, 5});
  return {
    {{"aten::index_put_", "aten::index_put"}, {{f, maybe({below(4, {3})}), rnd({3, 5}), false}, {f, maybe({std::nullopt, below(5, {2})}), rnd({4, 2}), false}, {f, maybe({bits({4, 5})}), rnd({}), false}, {f, maybe({at::tensor({1, 1}, at::kLong)}), rnd({2, 5}), true}}},
    {{"aten::scatter_.src"}, {{f, 1, at::zeros({4, 2}, at::kLong), rnd({4, 2})}}},
    {{"aten::scatter_.value"}, {{f, 1, below(5, {4, 2}), 1.5}}},
    {{"aten::scatter_add_"}, {{f, 1, below(5, {4, 2}), rnd({4, 2})}}},
    {{"aten::index_add_"}, {{f, 0, below(4, {2}), rnd({2, 5}), 1}}},
    {{"aten::index_add"}, {{f, 0, below(4, {2}), rnd({2, 5}), 2}, {wide({3, 2}), 1, below(2, {2}), wide({3, 2}), 1}}},
    {{"aten::one_hot"}, {{below(4, {3, 2}), 4}, {below(4, {3, 2}), -1}}},
    {{"aten::einsum"}, {{"ij,jk->ik", list({f, rnd({5, 3})}), kNone}, {"ij->ji", list({f}), kNone}}},
    {{"aten::tensor_split.sections"}, {{f, 3, 1}}},
    {{"aten::diagonal"}, {{f, 1, 0, 1}}},
    {{"aten::unfold"}, {{f, 1, 2, 1}}},
    {{"aten::movedim.int"}, {{rnd({2, 3, 4}), 0, 2}}},
    {{"aten::flip"}, {{f, ints({1})}}},
    {{"aten::roll"}, {{f, ints({1}), ints({0})}}},
    {{"aten::repeat"}, {{f, ints({2, 1})}}},
    {{"aten::hstack", "aten::vstack"}, {{list({f, rnd({4, 5})})}}},
    {{"aten::masked_scatter"}, {{f, bits({4, 5}), rnd({20})}}},
    {{"aten::logsumexp"}, {{f, ints({1}), false}}},
    {{"aten::fft_rfft"}, {{rnd({8}), kNone, -1, kNone}}},
    {{"aten::count_nonzero"}, {{f.relu(), kNone}}},
    {{"aten::allclose"}, {{f, f, 1e-5, 1e-8, false}}},
    {{"aten::linspace"}, {{0, 1, 5, kNone, kNone, kNone, kNone}}},
    {{"aten::type_as"}, {{f, rnd({2})}, {f, wide({2})}}},
    {{"aten::greater.Tensor", "aten::less_equal.Tensor", "aten::not_equal.Tensor"}, {{f, rnd({5})}}},
    {{"aten::hypot_"}, {{f, rnd({5})}}},
    {{"aten::lerp_.Scalar"}, {{f, rnd({4, 5}), 0.25}}},
    {{"aten::__lshift__.Scalar", "aten::__irshift__.Scalar"}, {{whole({4}), 2}}},
  };
}

std::vector<Row> lists() {
  return {
    {{"aten::add.t", "aten::extend.t", "aten::add_.t", "aten::eq.int_list", "aten::ne.int_list"}, {{ints({1, 2}), ints({3})}, {ints({}), ints({1})}, {ints({4, 5}), ints({4, 5})}}},
    {{"aten::eq.str_list", "aten::ne.str_list"}, {{strings({"a"}), strings({"a"})}, {strings({"a"}), strings({"b", "a"})}}},
    {{"aten::eq.float_list", "aten::ne.float_list"}, {{floats({1.5}), floats({1.5})}, {floats({NAN}), floats({NAN})}}},
    {{"aten::eq.bool_list", "aten::ne.bool_list"}, {{flags({true}), flags({true})}, {flags({true}), flags({false})}}},
    {{"aten::copy.t", "aten::list.t", "aten::clear.t", "aten::reverse.t"}, {{ints({1, 2, 3})}, {ints({})}, {strings({"a", "b"})}}},
    {{"aten::mul.left_t"}, {{ints({1, 2}), 3}, {ints({1, 2}), 0}, {ints({1}), -2}}},
    {{"aten::_set_item.t"}, {{ints({1, 2}), 1, 9}, {ints({1, 2}), -2, 9}, {ints({1, 2}), 2, 9}}},
    {{"aten::insert.t"}, {{ints({1, 2}), 1, 9}, {ints({1, 2}), -1, 9}, {ints({1, 2}), 7, 9}, {ints({1, 2}), -7, 9}}},
    {{"aten::Delete.t", "aten::pop.t"}, {{ints({1, 2}), 0}, {ints({1, 2}), -1}, {ints({1, 2}), 2}, {ints({}), 0}}},
    {{"aten::slice.t"}, {{ints({1, 2, 3, 4}), 1, 3, 1}, {ints({1, 2, 3, 4}), kNone, kNone, 2}, {ints({1, 2, 3, 4}), -3, kNone, 1}, {ints({1, 2, 3, 4}), 3, 1, 1}, {ints({1, 2, 3}), kNone, 100, INT64_MAX}, {ints({1, 2, 3}), kNone, kNone, -1}, {ints({1, 2}), 0, 1, 0}}},
    {{"prim::min.self_int", "prim::max.self_int", "aten::sum.int", "aten::any.int", "aten::all.int", "aten::len.any"}, {{ints({3, -1, 2})}, {ints({})}, {ints({0, 1})}}},
    {{"prim::min.self_float", "prim::max.self_float", "aten::any.float", "aten::all.float"}, {{floats({3, -1.5, 2})}, {floats({0.0})}}},
    {{"aten::any.bool", "aten::all.bool"}, {{flags({true, false})}, {flags({})}}},
    {{"aten::__contains__.float_list"}, {{floats({1.5, 2}), 2.0}, {floats({1.5}), 3.0}}},
    {{"prim::rangelist"}, {{3}, {0}, {-1}}},
    {{"aten::keys.str", "aten::values.str", "aten::items.str", "aten::len.Dict_str", "aten::copy.Dict_str", "aten::clear.str"}, {{dict({{"b", 1}, {"a", 2}})}, {dict({})}}},
    {{"aten::__getitem__.Dict_str", "aten::get.str", "aten::__contains__.str"}, {{dict({{"a", 2}}), "a"}, {dict({{"a", 2}}), "b"}}},
    {{"aten::get.default_str", "aten::_set_item.str"}, {{dict({{"a", 2}}), "a", 5}, {dict({{"a", 2}}), "b", 5}}},
    {{"aten::update.str"}, {{dict({{"a", 2}}), dict({{"b", 1}, {"a", 3}})}}},
  };
}

std::vector<Row> strings_and_numbers() {
  return {
    {{"aten::add.str"}, {{"a", "b"}, {"", ""}}},
    {{"aten::join"}, {{", ", strings({"a", "b", "c"})}, {"-", strings({})}}},
    {{"aten::len.str"}, {{"abc"}, {""}}},
    {{"aten::__getitem__.str", "prim::StringIndex"}, {{"abc", 1}, {"abc", -1}, {"abc", 3}}},
    {{"prim::type"}, {{at::Device("cpu")}}},
    {{"aten::eq.device", "aten::ne.device"}, {{at::Device("cpu"), at::Device("cpu")}, {at::Device("cpu"), at::Device("meta")}}},
    {{"prim::unchecked_cast", "aten::_unwrap_optional", "prim::unchecked_unwrap_optional"}, {{3}, {rnd({2})}}},
    {{"aten::_unwrap_optional"}, {{kNone}, {1}}},
    {{"aten::floor.float", "aten::ceil.float", "aten::sqrt.float", "aten::exp.float", "aten::log.float", "aten::sin.float", "aten::cos.float", "aten::tanh.float", "aten::isnan.float", "aten::isinf.float", "aten::isfinite.float", "prim::abs.float"},
     {{2.5}, {-2.5}, {0.0}, {1e300}}},
    {{"aten::isnan.float", "aten::isinf.float", "aten::isfinite.float", "aten::exp.float"}, {{NAN}, {INFINITY}}},
    {{"aten::floor.int", "aten::ceil.int", "aten::sqrt.int", "aten::exp.int", "aten::log.int"}, {{7}, {0}, {-3}}},
    {{"aten::pow.int", "aten::__and__.int", "aten::__or__.int", "aten::__xor__.int"}, {{7, 3}, {-7, 2}, {2, -1}}},
    {{"aten::pow.float"}, {{2.5, 3.0}, {-2.0, 0.5}}},
    {{"aten::pow.int_float", "prim::min.int_float", "prim::max.int_float"}, {{2, 2.5}, {3, -1.0}, {2, NAN}}},
    {{"aten::pow.float_int", "prim::min.float_int", "prim::max.float_int"}, {{2.5, 2}, {-1.5, 3}, {NAN, 2}}},
    {{"aten::__xor__.bool"}, {{true, false}, {true, true}}},
    {{"aten::add", "aten::sub", "aten::mul", "aten::div", "aten::eq", "aten::ne", "aten::lt", "aten::le", "aten::gt", "aten::ge"}, {{1, 2}, {1.5, 2}, {2, 2.0}, {2.5, 0.5}, {INT64_MAX, INT64_MAX}}},
  };
}

// clang-format on

std::vector<Row> everyday_rows() {
  at::manual_seed(0);
  std::vector<Row> all;
  for (auto* family : {convolutions, normalisation, pooling, recurrent, indexing, lists, strings_and_numbers}) {
    for (Row& row : family()) all.push_back(std::move(row));
  }
  return all;
}

class EverydayOps : public ::testing::TestWithParam<OneKey> {};

TEST_P(EverydayOps, are_like_libtorch) { expect_like_libtorch(GetParam().key, GetParam().samples); }

INSTANTIATE_TEST_SUITE_P(All, EverydayOps, ::testing::ValuesIn(by_key(everyday_rows())),
                         [](const auto& info) { return name_of(info.param.key) + "_" + std::to_string(info.index); });

TEST(EverydayOps, a_dropout_that_drops_nothing_gives_its_argument_back) {
  Frame frame(*find_operator("aten::dropout"), 0);
  const at::Tensor x = at::randn({4});
  frame.run({x, 0.5, false});
  EXPECT_EQ(frame.kind(), ImplKind::kNative);
  EXPECT_TRUE(frame.out().toTensor().is_same(x));
}

TEST(EverydayOps, format_puts_values_into_text) {
  Graph graph;
  const Operator* op = find_operator("aten::format");
  Node* node = graph.create(op);
  graph.add_output(node, c10::StringType::get());
  const Implementation format = choose_implementation(*node);
  ASSERT_EQ(format.kind, ImplKind::kNative);
  for (const Arguments& sample : std::vector<Arguments>{
           {"{} is {}", "a", 1.5}, {"none"}, {"{}", ints({1, 2})}, {"{}{} extra", at::ones({2}), true, 7}}) {
    torch::jit::Stack stack(sample.begin(), sample.end());
    stack.emplace_back(static_cast<int64_t>(sample.size()));
    op->boxed(stack);
    Arguments arguments = sample;
    std::vector<c10::IValue*> inputs;
    for (c10::IValue& argument : arguments) inputs.push_back(&argument);
    c10::IValue out, *outs[] = {&out};
    format.run(Call(inputs.data(), static_cast<int32_t>(inputs.size()), outs, nullptr, format.data.get()));
    EXPECT_EQ(out.toStringRef(), stack.back().toStringRef());
  }
}

}  // namespace
}  // namespace stator::test
