#include "ops_frame.h"

#include <c10/core/InferenceMode.h>

#include <optional>

namespace stator::test {

c10::IValue deep_copy(const c10::IValue& value) {
  if (value.isTensor() && value.toTensor().defined()) {
    const at::Tensor& tensor = value.toTensor();
    if (tensor.layout() != at::kStrided) return tensor.clone();
    // The whole storage, so that gaps and repeated elements stay.
    at::Tensor storage = at::empty({0}, tensor.options()).set_(tensor.storage()).clone();
    return storage.as_strided(tensor.sizes(), tensor.strides(), tensor.storage_offset());
  }
  if (value.isList()) {
    c10::impl::GenericList copy(value.toList().elementType());
    for (const c10::IValue& element : value.toListRef()) copy.push_back(deep_copy(element));
    return copy;
  }
  return value;
}

void expect_same(const c10::IValue& expected, const c10::IValue& actual, const std::string& what) {
  if (expected.isTensor()) {
    ASSERT_TRUE(actual.isTensor()) << what;
    const at::Tensor &a = expected.toTensor(), &b = actual.toTensor();
    ASSERT_EQ(a.scalar_type(), b.scalar_type()) << what;
    ASSERT_EQ(a.sizes(), b.sizes()) << what;
    ASSERT_EQ(a.layout(), b.layout()) << what;
    if (a.layout() == at::kStrided) {
      for (int64_t d = 0; d < a.dim(); ++d) {
        if (a.size(d) > 1) {
          ASSERT_EQ(a.stride(d), b.stride(d)) << what << ", stride " << d << " of " << a.sizes();
        }
      }
    }
    const bool close = a.is_floating_point() || a.is_complex()
                           ? at::allclose(a.to_dense(), b.to_dense(), 1e-5, 1e-6, /*equal_nan=*/true)
                           : at::equal(a, b);
    ASSERT_TRUE(close) << what << "\nexpected " << a << "\nactual " << b;
  } else if (expected.isList()) {
    ASSERT_TRUE(actual.isList()) << what;
    ASSERT_EQ(*expected.toList().elementType(), *actual.toList().elementType()) << what;
    const auto a = expected.toListRef(), b = actual.toListRef();
    ASSERT_EQ(a.size(), b.size()) << what;
    for (size_t i = 0; i < a.size(); ++i) expect_same(a[i], b[i], what);
  } else if (expected.isDouble() && expected.toDouble() != expected.toDouble()) {
    ASSERT_TRUE(actual.isDouble() && actual.toDouble() != actual.toDouble()) << what;
  } else {
    ASSERT_EQ(expected.tagKind(), actual.tagKind()) << what;
    ASSERT_TRUE(expected == actual) << what << ": expected " << expected << ", got " << actual;
  }
}

Frame::Frame(const Operator& op, int64_t capacity) {
  std::vector<c10::TypePtr> inputs, outputs;
  for (const auto& argument : op.schema.arguments()) inputs.push_back(argument.type());
  for (const auto& result : op.schema.returns()) outputs.push_back(result.type());
  make(graph_.create(&op), inputs, outputs, capacity);
}

Frame::Frame(Opcode opcode, size_t inputs, std::vector<c10::TypePtr> outputs, int64_t capacity) {
  make(graph_.create(opcode), std::vector<c10::TypePtr>(inputs, c10::AnyType::get()), outputs, capacity);
}

void Frame::make(Node* node, const std::vector<c10::TypePtr>& inputs, const std::vector<c10::TypePtr>& outputs,
                 int64_t capacity) {
  node_ = node;
  for (const auto& type : inputs) graph_.add_input(node, graph_.add_param(&graph_.root(), type));
  for (const auto& type : outputs) graph_.add_output(node, type);
  graph_.append(&graph_.root(), node);
  inputs_.resize(inputs.size());
  outputs_.resize(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    auto& memory = memory_.emplace_back(static_cast<size_t>(capacity), '\x7f');
    auto& observed = observed_.emplace_back(0);
    auto& buffer = buffers_.emplace_back();
    buffer.data = memory.data();
    buffer.capacity = capacity;
    buffer.observed = &observed;
  }
  choose();
}

void Frame::run(const Arguments& arguments) {
  inputs_ = arguments;
  std::vector<c10::IValue*> inputs, outputs;
  std::vector<PlannedBuffer*> buffers;
  for (auto& value : inputs_) inputs.push_back(&value);
  for (auto& value : outputs_) outputs.push_back(&value);
  for (auto& buffer : buffers_) buffers.push_back(implementation_.kind == ImplKind::kOut ? &buffer : nullptr);
  c10::InferenceMode guard;
  implementation_.run(Call(inputs.data(), static_cast<int32_t>(inputs.size()), outputs.data(), buffers.data(),
                           implementation_.data.get()));
}

bool Frame::planned(size_t i) const {
  return i < outputs_.size() && outputs_[i].isTensor() && outputs_[i].toTensor().has_storage() &&
         outputs_[i].toTensor().storage().data() == static_cast<const void*>(memory_[i].data());
}

namespace {

Arguments deep_copies(const Arguments& arguments) {
  Arguments copies;
  for (const auto& argument : arguments) copies.push_back(deep_copy(argument));
  return copies;
}

// nullopt if LibTorch raises.
std::optional<std::vector<c10::IValue>> libtorch(const Operator& op, const Arguments& arguments) {
  c10::InferenceMode guard;
  torch::jit::Stack stack(arguments.begin(), arguments.end());
  try {
    op.boxed(stack);
  } catch (const std::exception&) {
    return std::nullopt;
  }
  return stack;
}

std::string describe(const Arguments& arguments) {
  std::ostringstream text;
  for (const auto& argument : arguments) {
    if (argument.isTensor() && argument.toTensor().defined()) {
      const at::Tensor& tensor = argument.toTensor();
      text << " " << tensor.scalar_type() << tensor.sizes() << "/" << tensor.strides();
    } else if (!argument.isTensorList() && !argument.isList()) {
      text << " " << argument;
    }
  }
  return text.str();
}

}  // namespace

void expect_like_libtorch(const std::string& key, const std::vector<Arguments>& samples) {
  const Operator* op = find_operator(key);
  ASSERT_NE(op, nullptr) << key;
  int successes = 0, planned = 0;
  for (int64_t capacity : {int64_t{1} << 20, int64_t{8}}) {
    Frame frame(*op, capacity);
    ASSERT_NE(frame.kind(), ImplKind::kFallback) << key;
    for (int round = 0; round < 2; ++round) {
      for (const Arguments& sample : samples) {
        const std::string what = key + describe(sample);
        const Arguments theirs = deep_copies(sample), ours = deep_copies(sample);
        const auto expected = libtorch(*op, theirs);
        if (!expected) {
          EXPECT_ANY_THROW(frame.run(ours)) << what;
          continue;
        }
        ++successes;
        try {
          frame.run(ours);
        } catch (const std::exception& error) {
          FAIL() << what << ": " << error.what();
        }
        planned += frame.planned();
        for (size_t i = 0; i < expected->size(); ++i) expect_same((*expected)[i], frame.out(i), what);
        for (size_t i = 0; i < theirs.size(); ++i) expect_same(theirs[i], frame.in(i), what + ", argument");
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
    if (frame.kind() == ImplKind::kOut) {
      EXPECT_GT(planned, 0) << key << ": no result was placed";
    }
  }
  EXPECT_GT(successes, 0) << key << ": no sample is valid";
}

}  // namespace stator::test
