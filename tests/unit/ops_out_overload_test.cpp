// Operators without an implementation of their own: LibTorch's out overload is found and used where it does the same.
#include <c10/core/InferenceMode.h>
#include <torch/library.h>

#include <thread>

#include "graph/parser.h"
#include "ops_samples.h"
#include "plan/plan.h"

namespace stator::test {
namespace {

at::Tensor twice(const at::Tensor& x) { return x + x; }
at::Tensor& twice_out(const at::Tensor& x, at::Tensor& out) { return at::add_out(out, x, x); }

// The elements above zero: how many there are depends on data, which no tag says.
at::Tensor positives(const at::Tensor& x) { return x.masked_select(x > 0); }
at::Tensor& positives_out(const at::Tensor& x, at::Tensor& out) { return at::masked_select_out(out, x, x > 0); }

at::Tensor absolute_or_same(const at::Tensor& x) { return x.is_floating_point() ? x.abs() : x; }
at::Tensor& absolute_or_same_out(const at::Tensor& x, at::Tensor& out) { return out.copy_(x); }

at::Tensor& refuse_out(const at::Tensor&, at::Tensor&) { TORCH_CHECK(false, "no out form"); }

TORCH_LIBRARY(stator_out_test, library) {
  library.def("twice(Tensor x) -> Tensor");
  library.def("twice.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)");
  library.def("positives(Tensor x) -> Tensor");
  library.def("positives.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)");
  library.def("absolute_or_same(Tensor x) -> Tensor");
  library.def("absolute_or_same.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)");
  library.def("refusing(Tensor x) -> Tensor");
  library.def("refusing.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)");
  library.def("composite(Tensor x) -> Tensor");
  library.def("composite.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)");
}

TORCH_LIBRARY_IMPL(stator_out_test, CPU, library) {
  library.impl("twice", twice);
  library.impl("twice.out", twice_out);
  library.impl("positives", positives);
  library.impl("positives.out", positives_out);
  library.impl("absolute_or_same", absolute_or_same);
  library.impl("absolute_or_same.out", absolute_or_same_out);
  library.impl("refusing", twice);
  library.impl("refusing.out", refuse_out);
}

TORCH_LIBRARY_IMPL(stator_out_test, CompositeExplicitAutograd, library) {
  library.impl("composite", twice);
  library.impl("composite.out", twice_out);
}

Frame frame_of(const char* key) { return Frame(*find_operator(key), 1 << 16); }

TEST(OutOverload, the_first_call_of_a_signature_learns_and_the_next_is_placed) {
  Frame frame = frame_of("stator_out_test::twice");
  ASSERT_EQ(frame.kind(), ImplKind::kOut);
  const std::vector<at::Tensor> inputs{at::randn({4}), at::randn({2, 3}), at::ones({4}, at::kLong),
                                       at::randn({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast)};
  for (bool placed : {false, true, true}) {
    for (const at::Tensor& input : inputs) {
      frame.run({input});
      EXPECT_EQ(frame.planned(), placed) << input.sizes();
      expect_same(input + input, frame.out(), "twice");
    }
  }
}

TEST(OutOverload, many_signatures_are_right_though_not_all_are_placed) {
  Frame frame = frame_of("stator_out_test::twice");
  for (int round = 0; round < 2; ++round) {
    for (int64_t size = 0; size < 100; ++size) {
      const at::Tensor x = at::randn({size});
      frame.run({x});
      expect_same(x + x, frame.out(), "twice");
    }
  }
}

TEST(OutOverload, a_result_whose_size_depends_on_data_is_the_functional_forms) {
  Frame frame = frame_of("stator_out_test::positives");
  for (int i = 0; i < 6; ++i) {
    const at::Tensor x = at::randn({8});
    frame.run({x});
    expect_same(positives(x), frame.out(), "positives");
  }
}

TEST(OutOverload, a_result_that_would_be_an_argument_is_a_tensor_of_its_own) {
  Frame frame = frame_of("stator_out_test::absolute_or_same");
  for (int i = 0; i < 4; ++i) {
    const at::Tensor x = at::tensor({-1, 2}, at::kLong);
    frame.run({x});
    EXPECT_FALSE(frame.out().toTensor().is_alias_of(x));
    expect_same(x, frame.out(), "absolute_or_same");
  }
}

TEST(OutOverload, an_out_form_that_refuses_is_not_called_again) {
  Frame frame = frame_of("stator_out_test::refusing");
  for (int i = 0; i < 4; ++i) {
    const at::Tensor x = at::randn({3});
    frame.run({x});
    expect_same(x + x, frame.out(), "refusing");
  }
}

TEST(OutOverload, errors_are_the_functional_forms_and_the_next_run_is_right) {
  Frame frame = frame_of("aten::replication_pad1d");
  const at::Tensor x = at::randn({2, 5});
  for (int i = 0; i < 3; ++i) {
    frame.run({x, ints({1, 1})});
    EXPECT_ANY_THROW(frame.run({x, ints({1})}));
  }
  EXPECT_TRUE(frame.planned());
}

TEST(OutOverload, lazily_negative_arguments_are_libtorchs) {
  c10::InferenceMode guard;
  Frame frame = frame_of("stator_out_test::twice");
  for (int i = 0; i < 3; ++i) {
    const at::Tensor x = at::randn({3, 3});
    frame.run({at::_neg_view(x)});
    expect_same(x * -2, frame.out(), "twice");
  }
}

TEST(OutOverload, the_reason_says_why_there_is_none) {
  const auto reason = [](const char* key) {
    Graph graph;
    Node* node = graph.create(find_operator(key));
    const Implementation chosen = choose_implementation(*node);
    EXPECT_EQ(chosen.kind, ImplKind::kFallback) << key;
    return chosen.reason;
  };
  EXPECT_EQ(reason("stator_out_test::composite"), "LibTorch's out form of it does not write in place");
  EXPECT_EQ(reason("aten::nonzero"), "the size of its result depends on data");
  EXPECT_EQ(reason("aten::bernoulli"), "draws random numbers");
  EXPECT_EQ(reason("aten::sorted.int"), "TorchScript's own function, no native op registered");
}

TEST(OutOverload, threads_share_what_was_learned) {
  Frame first = frame_of("stator_out_test::twice");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&first] {
      Frame frame = frame_of("stator_out_test::twice");
      frame.share(first);
      for (int64_t i = 0; i < 400; ++i) {
        const at::Tensor x = at::full({i % 40}, static_cast<double>(i));
        frame.run({x});
        ASSERT_TRUE(at::equal(x + x, frame.out().toTensor()));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Defect M of upstream: each of these once made everything in the graph unmanaged.
TEST(OutOverload, one_operator_of_unknown_behaviour_does_not_stop_the_planning_of_the_rest) {
  for (const char* odd : {"aten::block_diag(%list)", "aten::einsum(%equation, %list, %none)",
                          "aten::__getitem__.t(%list, %one)", "aten::cartesian_prod(%list)"}) {
    const std::string text = std::string(R"(graph(%x : Tensor, %y : Tensor):
  %one : int = prim::Constant[value=1]()
  %none : NoneType = prim::Constant[value=None]()
  %equation : str = prim::Constant[value="ij,jk->ik"]()
  %a : Tensor = aten::mul.Tensor(%x, %y)
  %b : Tensor = aten::tanh(%a)
  %p : Tensor = aten::neg(%x)
  %q : Tensor = aten::neg(%y)
  %list : List[Tensor] = prim::ListConstruct(%p, %q)
  %odd : Tensor = )") + odd + R"(
  %c : Tensor = aten::add.Tensor(%b, %odd, %one)
  %d : Tensor = aten::exp(%c)
  return (%d)
)";
    auto graph = parse_graph(text);
    auto plan = make_dynamic_plan(*graph, PlannerKind::kStandard);
    for (const char* name : {"a", "b", "c", "d"}) {
      const bool planned = std::any_of(plan->tensors.begin(), plan->tensors.end(),
                                       [&](const PlannedTensor& tensor) { return tensor.value->name == name; });
      EXPECT_TRUE(planned) << name << " beside " << odd;
    }
  }
}

// A sample of those that go this way, structured or not, with several results among them.
class FoundOutOverloads : public ::testing::TestWithParam<OneKey> {};

TEST_P(FoundOutOverloads, are_like_libtorch) {
  EXPECT_FALSE(registered(ImplKind::kOut, GetParam().key) || registered(ImplKind::kNative, GetParam().key));
  expect_like_libtorch(GetParam().key, GetParam().samples);
}

// clang-format off
std::vector<Row> found() {
  const at::Tensor f = at::randn({4, 5}), g = at::randn({4, 5});
  const c10::IValue one = ints({1, 1}), two = ints({2, 2}), none = ints({0, 0});
  return {
    {{"aten::special_i0e", "aten::special_erfcx", "aten::angle", "aten::sinc"}, {{f}, {wide({3})}, {whole({3})}, {gaps(f)}, {rnd({0})}, {rnd({5, 4}).t()}}},
    {{"aten::mse_loss"}, {{f, g, 1}, {f, g, 0}}},
    {{"aten::smooth_l1_loss"}, {{f, g, 1, 1.0}, {f, g, 0, 0.5}}},
    {{"aten::avg_pool2d"}, {{last({1, 2, 4, 6}), two, ints({}), none, false, true, kNone}, {rnd({2, 4, 6}), two, two, none, false, true, kNone}}},
    {{"aten::max_pool2d_with_indices"}, {{last({1, 2, 4, 6}), two, ints({}), none, one, false}}},
    {{"aten::upsample_bilinear2d"}, {{rnd({1, 2, 4, 6}), ints({8, 9}), false, kNone, kNone}}},
    {{"aten::kthvalue"}, {{f, 2, 1, false}, {f, 9, 1, false}}},
    {{"aten::index_add"}, {{f, 0, below(4, {2}), rnd({2, 5}), 2}}},
    {{"aten::bucketize.Tensor"}, {{f, at::linspace(-1, 1, 5), false, true}, {f, at::linspace(-1, 1, 5), true, false}}},
    {{"aten::linalg_qr"}, {{f, "reduced"}, {f, "complete"}}},
    {{"aten::linalg_solve_triangular"}, {{rnd({3, 3}).triu(), rnd({3, 2}), true, true, false}}},
    {{"aten::addbmm"}, {{rnd({2, 4}), rnd({3, 2, 5}), rnd({3, 5, 4}), 1, 0.5}}},
  };
}
// clang-format on

INSTANTIATE_TEST_SUITE_P(All, FoundOutOverloads, ::testing::ValuesIn(by_key(found())),
                         [](const auto& info) { return name_of(info.param.key) + "_" + std::to_string(info.index); });

}  // namespace
}  // namespace stator::test
