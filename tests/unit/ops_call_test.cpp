#include <c10/core/InferenceMode.h>

#include "ops_frame.h"

namespace stator::test {
namespace {

TEST(OpsCall, every_registered_key_is_an_operator_of_libtorch_or_an_opcode) {
  for (ImplKind kind : {ImplKind::kOut, ImplKind::kNative}) {
    for (std::string_view key : registered_keys(kind)) EXPECT_TRUE(find_operator(key) || opcode_from_name(key)) << key;
  }
}

TEST(OpsCall, a_result_that_fits_lies_in_planned_memory_and_keeps_its_tensor) {
  Frame frame(*find_operator("aten::add.Tensor"), 64);
  frame.run({at::randn({4}), at::randn({4}), 1});
  EXPECT_TRUE(frame.planned());
  const at::TensorImpl* first = frame.out().toTensor().unsafeGetTensorImpl();
  frame.run({at::randn({2, 3}), at::randn({3}), 1});
  EXPECT_TRUE(frame.planned());
  EXPECT_EQ(first, frame.out().toTensor().unsafeGetTensorImpl());
  EXPECT_EQ(frame.observed(), 0);
}

TEST(OpsCall, a_result_that_does_not_fit_goes_to_the_heap_and_is_counted) {
  Frame frame(*find_operator("aten::add.Tensor"), 64);
  frame.run({at::randn({100}), at::randn({100}), 1});
  EXPECT_FALSE(frame.planned());
  EXPECT_EQ(frame.observed(), 400);
  frame.run({at::randn({50}), at::randn({50}), 1});
  EXPECT_EQ(frame.observed(), 400);
}

TEST(OpsCall, another_dtype_gets_another_tensor_on_the_same_memory) {
  Frame frame(*find_operator("aten::add.Tensor"), 64);
  frame.run({at::randn({4}), at::randn({4}), 1});
  const at::Tensor held = frame.out().toTensor();
  frame.run({at::ones({4}, at::kLong), at::ones({4}, at::kLong), 1});
  EXPECT_TRUE(frame.planned());
  EXPECT_FALSE(held.is_same(frame.out().toTensor()));
  EXPECT_EQ(held.scalar_type(), at::kFloat);
}

TEST(OpsCall, a_resized_result_leaves_planned_memory_and_the_next_one_returns_to_it) {
  Frame frame(*find_operator("aten::add.Tensor"), 64);
  frame.run({at::randn({4}), at::randn({4}), 1});
  {
    c10::InferenceMode guard;
    frame.out().toTensor().resize_({1000});
  }
  EXPECT_FALSE(frame.planned());
  frame.run({at::ones({4}), at::ones({4}), 1});
  EXPECT_TRUE(frame.planned());
  EXPECT_TRUE(at::equal(frame.out().toTensor(), at::full({4}, 2.0f)));
}

TEST(OpsCall, a_result_that_its_schema_calls_fresh_is_copied_if_it_is_not) {
  Frame frame(*find_operator("aten::_cast_Float"), 0);
  const at::Tensor x = at::randn({4});
  frame.run({x, false});
  EXPECT_EQ(frame.kind(), ImplKind::kFallback);
  EXPECT_FALSE(frame.out().toTensor().is_alias_of(x));
  EXPECT_TRUE(at::equal(frame.out().toTensor(), x));
}

TEST(OpsCall, sparse_and_lazily_negative_arguments_are_libtorchs) {
  c10::InferenceMode guard;
  Frame frame(*find_operator("aten::add.Tensor"), 1024);
  const at::Tensor x = at::randn({3, 3}), sparse = x.relu().to_sparse(), negative = at::_neg_view(x);
  frame.run({x, sparse, 1});
  EXPECT_TRUE(at::allclose(frame.out().toTensor(), x + x.relu()));
  frame.run({x, negative, 1});
  EXPECT_TRUE(at::equal(frame.out().toTensor(), at::zeros({3, 3})));
}

TEST(OpsCall, variadic_cat_and_stack_are_cat_and_stack) {
  Frame cat(Opcode::kVarCat, 3, {c10::TensorType::get()}, 4096),
      stack(Opcode::kVarStack, 3, {c10::TensorType::get()}, 4096);
  for (const auto& [a, b] :
       std::vector<std::pair<at::Tensor, at::Tensor>>{{at::randn({2, 3}), at::randn({2, 3})},
                                                      {at::randn({2, 3}), at::ones({2, 3}, at::kLong)},
                                                      {at::randn({3, 2}).t(), at::randn({2, 3})}}) {
    for (int64_t dim : {0, 1, -1}) {
      cat.run({a, b, dim});
      expect_same(at::cat({a, b}, dim), cat.out(), "VarCat");
      stack.run({a, b, dim});
      expect_same(at::stack({a, b}, dim), stack.out(), "VarStack");
    }
  }
}

TEST(OpsCall, lists_and_tuples_are_what_their_types_say) {
  Frame list(Opcode::kListConstruct, 2, {c10::ListType::ofInts()}, 0);
  list.run({1, 2});
  EXPECT_TRUE(list.out().isIntList());
  Frame tuple(Opcode::kTupleConstruct, 2, {c10::TupleType::create({c10::IntType::get(), c10::TensorType::get()})}, 0);
  tuple.run({1, at::ones({2})});
  Frame unpack(Opcode::kTupleUnpack, 1, {c10::IntType::get(), c10::TensorType::get()}, 0);
  unpack.run({tuple.out()});
  EXPECT_EQ(unpack.out(0).toInt(), 1);
  EXPECT_TRUE(unpack.out(1).isTensor());
  Frame index(Opcode::kTupleIndex, 2, {c10::IntType::get()}, 0);
  index.run({tuple.out(), -2});
  EXPECT_EQ(index.out().toInt(), 1);
  EXPECT_ANY_THROW(index.run({tuple.out(), 2}));
  Frame elements(Opcode::kListUnpack, 1, {c10::IntType::get(), c10::IntType::get()}, 0);
  elements.run({list.out()});
  EXPECT_EQ(elements.out(1).toInt(), 2);
  EXPECT_ANY_THROW(elements.run({c10::IValue(std::vector<int64_t>{1})}));
}

TEST(OpsCall, dicts_and_class_tests) {
  Frame dict(Opcode::kDictConstruct, 4, {c10::DictType::create(c10::StringType::get(), c10::IntType::get())}, 0);
  dict.run({"a", 1, "b", 2});
  Frame item(*find_operator("aten::__getitem__.Dict_str"), 0);
  item.run({dict.out(), "b"});
  EXPECT_EQ(item.out().toInt(), 2);
  EXPECT_ANY_THROW(item.run({dict.out(), "c"}));
  Frame is_instance(Opcode::kIsInstance, 1, {c10::BoolType::get()}, 0);
  is_instance.node().types = {c10::IntType::get()};
  is_instance.choose();
  is_instance.run({1});
  EXPECT_TRUE(is_instance.out().toBool());
  is_instance.run({1.5});
  EXPECT_FALSE(is_instance.out().toBool());
}

}  // namespace
}  // namespace stator::test
