// Calls of the dynamic plan by bound kernels: as LibTorch's own, strides included, whatever the arguments look like.
#include "plan/bound_call.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <random>

#include "ops_frame.h"

namespace stator {
namespace {

using test::Arguments;

constexpr size_t kNoConstants = 100;

// A call whose tensors are constants from argument `first_constant` on.
class Bound {
 public:
  Bound(const char* key, const Arguments& arguments, size_t first_constant,
        std::shared_ptr<MemoryBudget> budget = nullptr)
      : packed_(std::make_shared<PackedWeights>(std::move(budget))) {
    const Operator* op = find_operator(key);
    node_ = graph_.create(op);
    for (size_t i = 0; i < arguments.size(); ++i) {
      const c10::TypePtr& type = op->schema.arguments()[i].type();
      graph_.add_input(
          node_, i < first_constant ? graph_.add_param(&graph_.root(), type) : graph_.constant(arguments[i], type));
    }
    for (const auto& result : op->schema.returns()) graph_.add_output(node_, result.type());
    graph_.append(&graph_.root(), node_);
    auto counted = std::make_shared<Counted>(Counted{choose_implementation(*node_), own_calls_});
    Implementation otherwise{.run = count, .data = std::move(counted), .kind = choose_implementation(*node_).kind};
    implementation_ = with_bound_kernels(*node_, std::move(otherwise), packed_);
  }

  std::vector<c10::IValue> run(Arguments arguments) const {
    std::vector<c10::IValue> results(node_->outputs.size());
    std::vector<c10::IValue*> in, out;
    for (c10::IValue& value : arguments) in.push_back(&value);
    for (c10::IValue& value : results) out.push_back(&value);
    c10::InferenceMode inference;
    implementation_.run(
        Call(in.data(), static_cast<int32_t>(in.size()), out.data(), nullptr, implementation_.data.get()));
    return results;
  }

  void expect_like_libtorch(const Arguments& arguments) const {
    torch::jit::Stack expected = arguments;
    {
      c10::InferenceMode inference;
      node_->op->boxed(expected);
    }
    const std::vector<c10::IValue> results = run(arguments);
    ASSERT_EQ(expected.size(), results.size());
    for (size_t i = 0; i < results.size(); ++i) {
      const at::Tensor &a = expected[i].toTensor(), &b = results[i].toTensor();
      ASSERT_EQ(a.sizes(), b.sizes());
      ASSERT_EQ(a.strides(), b.strides()) << arguments[0].toTensor().sizes() << arguments[0].toTensor().strides();
      ASSERT_TRUE(at::allclose(a, b, 1.3e-6, 2e-5)) << arguments[0].toTensor().sizes();
    }
  }
  bool has_packed() const { return !packed_->all().empty(); }
  ImplKind kind() const { return implementation_.kind; }
  // Of the operator's own implementation.
  int own_calls() const { return *own_calls_; }

 private:
  struct Counted {
    Implementation implementation;
    std::shared_ptr<int> calls;
  };
  static void count(const Call& call) {
    const auto& counted = call.data<Counted>();
    ++*counted.calls;
    counted.implementation.run(call.with(counted.implementation.data.get()));
  }

  Graph graph_;
  Node* node_ = nullptr;
  std::shared_ptr<int> own_calls_ = std::make_shared<int>(0);
  std::shared_ptr<PackedWeights> packed_;
  Implementation implementation_;
};

std::mt19937& engine() {
  static std::mt19937 engine(5);
  return engine;
}
int64_t any_of(std::initializer_list<int64_t> choices) { return choices.begin()[engine()() % choices.size()]; }

// Of these sizes, its dimensions in any order in memory, sometimes with gaps.
at::Tensor laid_out_somehow(std::vector<int64_t> sizes) {
  std::vector<int64_t> order(sizes.size()), places(sizes.size()), in_memory;
  for (size_t i = 0; i < sizes.size(); ++i) order[i] = static_cast<int64_t>(i);
  if (any_of({0, 1})) std::shuffle(order.begin(), order.end(), engine());
  for (size_t i = 0; i < sizes.size(); ++i) {
    places[order[i]] = static_cast<int64_t>(i);
    in_memory.push_back(sizes[order[i]]);
  }
  const int64_t gap = any_of({0, 0, 0, 3});
  in_memory.back() += gap;
  return at::randn(in_memory).narrow(-1, 0, in_memory.back() - gap).permute(places);
}

TEST(BoundCall, convolutions_of_any_layout_are_libtorchs) {
  at::manual_seed(3);
  int bound = 0;
  for (int i = 0; i < 1500; ++i) {
    const int64_t dims = any_of({1, 2}), channels = any_of({1, 2, 8}), out = any_of({1, 3, 64});
    const int64_t groups = any_of({1, channels}), stride = any_of({1, 2}), padding = any_of({0, 1});
    std::vector<int64_t> sizes{channels}, weights{out * groups, channels / groups};
    if (any_of({0, 1, 1})) sizes.insert(sizes.begin(), any_of({1, 2}));
    for (int64_t d = 0; d < dims; ++d) {
      sizes.push_back(any_of({1, 3, 7}));
      weights.push_back(any_of({1, 3}));
      if (sizes.back() + 2 * padding < weights.back()) sizes.back() = weights.back();
    }
    const std::vector<int64_t> steps(dims, stride), zeros(dims, padding), ones(dims, 1);
    const Arguments arguments{
        laid_out_somehow(sizes), at::randn(weights), at::randn({weights[0]}), steps, zeros, ones, groups};
    const Bound call(dims == 1 ? "aten::conv1d" : "aten::conv2d", arguments, 1);
    EXPECT_EQ(ImplKind::kOut, call.kind());
    call.expect_like_libtorch(arguments);
    if (HasFatalFailure()) return;
    bound += call.has_packed() ? 1 : 0;
  }
  EXPECT_GE(bound, 600);
}

TEST(BoundCall, recurrent_networks_of_any_layout_are_libtorchs) {
  at::manual_seed(4);
  struct Kind {
    const char* key;
    int64_t gates;
  };
  for (const auto& [key, gates] :
       {Kind{"aten::lstm.input", 4}, Kind{"aten::gru.input", 3}, Kind{"aten::rnn_tanh.input", 1}}) {
    for (int i = 0; i < 100; ++i) {
      const bool first = any_of({0, 1}) == 1;
      const int64_t batch = any_of({1, 3}), steps = any_of({1, 2, 9}), hidden = 8, directions = any_of({1, 2});
      std::vector<at::Tensor> parameters;
      for (int64_t d = 0; d < directions; ++d) {
        parameters.insert(parameters.end(), {at::randn({gates * hidden, 5}), at::randn({gates * hidden, hidden}),
                                             at::randn({gates * hidden}), at::randn({gates * hidden})});
      }
      const at::Tensor state = at::randn({directions, batch, hidden});
      const at::Tensor input =
          laid_out_somehow(first ? std::vector<int64_t>{batch, steps, 5} : std::vector<int64_t>{steps, batch, 5});
      const Arguments arguments{
          input,      gates == 4 ? c10::IValue(std::vector<at::Tensor>{state, state}) : c10::IValue(state),
          parameters, true,
          1,          0.0,
          false,      directions == 2,
          first};
      const Bound call(key, arguments, 2);
      call.expect_like_libtorch(arguments);
      if (HasFatalFailure()) return;
      EXPECT_TRUE(call.has_packed());
    }
  }
}

TEST(BoundCall, products_with_weights_are_libtorchs) {
  at::manual_seed(5);
  for (int i = 0; i < 300; ++i) {
    std::vector<int64_t> sizes{any_of({1, 4}), 64};
    if (any_of({0, 1})) sizes.insert(sizes.begin(), any_of({1, 3}));
    const at::Tensor input = laid_out_somehow(sizes), weight = at::randn({96, 64}), bias = at::randn({96});
    const Arguments linear{input, weight, any_of({0, 1}) ? c10::IValue(bias) : c10::IValue()};
    const Bound call("aten::linear", linear, 1);
    call.expect_like_libtorch(linear);
    const Arguments matmul{input, weight.t()};
    Bound("aten::matmul", matmul, 1).expect_like_libtorch(matmul);
    if (input.dim() != 2) continue;
    EXPECT_TRUE(call.has_packed());
    Bound("aten::mm", matmul, 1).expect_like_libtorch(matmul);
    const Arguments addmm{bias, input, weight.t(), 1, any_of({0, 1}) ? 1 : 2};
    Bound("aten::addmm", addmm, 2).expect_like_libtorch(addmm);
    if (HasFatalFailure()) return;
  }
}

TEST(BoundCall, activations_of_any_layout_are_libtorchs) {
  at::manual_seed(6);
  int bound = 0;
  for (int i = 0; i < 200; ++i) {
    const Arguments arguments{laid_out_somehow({any_of({1, 2}), any_of({1, 5}), any_of({1, 70})}),
                              any_of({0, 1}) ? "none" : "tanh"};
    const Bound call("aten::gelu", arguments, kNoConstants);
    call.expect_like_libtorch(arguments);
    if (HasFatalFailure()) return;
    bound += call.own_calls() == 0 ? 1 : 0;
  }
  EXPECT_GE(bound, 60);
}

TEST(BoundCall, means_of_any_layout_are_libtorchs) {
  at::manual_seed(7);
  int bound = 0;
  for (int i = 0; i < 200; ++i) {
    const Arguments arguments{laid_out_somehow({any_of({1, 2}), any_of({1, 5}), any_of({1, 70})}),
                              any_of({0, 1}) ? std::vector<int64_t>{1} : std::vector<int64_t>{-1, 0},
                              any_of({0, 1}) == 1, c10::IValue()};
    const Bound call("aten::mean.dim", arguments, kNoConstants);
    call.expect_like_libtorch(arguments);
    if (HasFatalFailure()) return;
    bound += call.own_calls() == 0 ? 1 : 0;
  }
  EXPECT_GE(bound, 150);
}

TEST(BoundCall, softmax_of_any_layout_is_libtorchs) {
  at::manual_seed(9);
  int bound = 0;
  for (int i = 0; i < 200; ++i) {
    const int64_t dim = any_of({0, 1, -1});
    const Arguments arguments{laid_out_somehow({any_of({1, 4}), any_of({1, 5}), any_of({3, 70})}), dim, c10::IValue()};
    for (const char* key : {"aten::softmax.int", "aten::log_softmax.int"}) {
      const Bound call(key, arguments, kNoConstants);
      call.expect_like_libtorch(arguments);
      if (HasFatalFailure()) return;
      bound += call.own_calls() == 0 ? 1 : 0;
    }
  }
  EXPECT_GE(bound, 100);
}

TEST(BoundCall, what_is_made_of_rows_of_any_layout_is_libtorchs) {
  at::manual_seed(10);
  int bound = 0;
  for (int i = 0; i < 200; ++i) {
    const at::Tensor input = laid_out_somehow({any_of({1, 4}), any_of({1, 5}), any_of({70, 300})});
    const int64_t dim = any_of({0, 1, -1});
    const bool keep = any_of({0, 1}) == 1;
    const auto row = input.size(2);
    const bool has_weight = any_of({0, 1}) == 1;
    const c10::IValue weight = has_weight ? c10::IValue(at::randn({row})) : c10::IValue();
    const std::vector<std::pair<const char*, Arguments>> calls{
        {"aten::amax", {input, std::vector<int64_t>{dim}, keep}},
        {"aten::amin", {input, std::vector<int64_t>{0, 2}, keep}},
        {"aten::max.dim", {input, dim, keep}},
        {"aten::min.dim", {input, dim, keep}},
        {"aten::argmax", {input, dim, keep}},
        {"aten::argmin", {input, dim, keep}},
        {"aten::layer_norm", {input, std::vector<int64_t>{row}, weight, weight, 1e-5, true}}};
    for (const auto& [key, arguments] : calls) {
      SCOPED_TRACE(key);
      const Bound call(key, arguments, kNoConstants);
      call.expect_like_libtorch(arguments);
      if (HasFatalFailure()) return;
      bound += call.own_calls() == 0 ? 1 : 0;
    }
  }
  EXPECT_GE(bound, 600);
}

at::Tensor some_mask(int64_t batch, int64_t heads, int64_t rows, int64_t keys) {
  std::vector<int64_t> sizes{rows, keys};
  if (any_of({0, 1})) sizes.insert(sizes.begin(), {any_of({1, batch}), any_of({1, heads})});
  const at::Tensor mask = laid_out_somehow(sizes);
  return any_of({0, 1}) ? mask : mask > -1;
}

TEST(BoundCall, attention_of_any_layout_is_libtorchs) {
  at::manual_seed(8);
  int bound = 0;
  for (int i = 0; i < 500; ++i) {
    const int64_t batch = any_of({1, 2}), heads = any_of({1, 3}), rows = any_of({1, 5}), keys = any_of({1, 7});
    const int64_t width = any_of({1, 8});
    const std::vector<int64_t> q{batch, heads, rows, width}, kv{batch, heads, keys, width};
    const bool is_masked = any_of({0, 1}) == 1;
    const Arguments arguments{laid_out_somehow(q),
                              laid_out_somehow(kv),
                              laid_out_somehow(kv),
                              is_masked ? c10::IValue(some_mask(batch, heads, rows, keys)) : c10::IValue(),
                              0.0,
                              !is_masked && any_of({0, 1}) == 1,
                              any_of({0, 1}) ? c10::IValue(0.3) : c10::IValue(),
                              false};
    const Bound call("aten::scaled_dot_product_attention", arguments, kNoConstants);
    call.expect_like_libtorch(arguments);
    if (HasFatalFailure()) return;
    bound += call.own_calls() == 0 ? 1 : 0;
  }
  EXPECT_GE(bound, 100);
}

TEST(BoundCall, is_the_operators_own_where_kernels_are_not_for_it) {
  const Arguments doubles{at::randn({2, 64}, at::kDouble), at::randn({96, 64}, at::kDouble), c10::IValue()};
  const Bound call("aten::linear", doubles, 1);
  call.expect_like_libtorch(doubles);
  EXPECT_EQ(1, call.own_calls());
  const Arguments wrong{at::randn({2, 63}), at::randn({96, 64}), c10::IValue()};
  EXPECT_THROW(Bound("aten::linear", wrong, 1).run(wrong), c10::Error);
}

TEST(BoundCall, without_memory_for_weights_the_operator_is_called) {
  const Arguments arguments{at::randn({2, 64}), at::randn({96, 64}), c10::IValue()};
  const Bound call("aten::linear", arguments, 1, std::make_shared<MemoryBudget>("test", 1000));
  for (int i = 0; i < 3; ++i) call.expect_like_libtorch(arguments);
  EXPECT_FALSE(call.has_packed());
}

}  // namespace
}  // namespace stator
