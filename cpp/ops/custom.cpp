#include "ops/custom.h"

#include <ATen/EmptyTensor.h>
#include <c10/util/SmallVector.h>
#include <torch/library.h>

#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/error.h"
#include "ops/tensors.h"

namespace stator {
namespace {

using Values = c10::SmallVector<c10::IValue, 8>;
using Tensors = c10::SmallVector<at::Tensor, 2>;

struct Registered {
  std::string name;
  size_t result_count;
  std::unique_ptr<CustomOperator> op;
};

// By key. Never emptied, because graphs, plans and LibTorch's dispatcher point to what is in it.
struct CustomRegistry {
  std::mutex mutex;
  std::unordered_map<std::string, std::unique_ptr<const Registered>> operators;
  std::vector<std::unique_ptr<torch::Library>> fragments;
};

CustomRegistry& custom_registry() {
  static auto& instance = *new CustomRegistry;
  return instance;
}

at::Tensor plain(const at::Tensor& tensor, const Registered& registered) {
  if (is_plain(tensor)) return tensor;
  if (tensor.defined() && tensor.layout() == at::kStrided && tensor.is_cpu() && !tensor.is_quantized())
    return tensor.resolve_conj().resolve_neg();
  throw Error(ErrorCode::kUnsupported,
              registered.name + ": expected strided tensors on the CPU, got one that is " +
                  (tensor.defined() ? tensor.toString() : std::string("undefined")),
              {.op = registered.name});
}

c10::IValue plain(const c10::IValue& value, const Registered& registered) {
  if (value.isTensor()) return plain(value.toTensor(), registered);
  if (value.isTensorList()) {
    c10::List<at::Tensor> out;
    for (const at::Tensor& tensor : value.toTensorVector()) out.push_back(plain(tensor, registered));
    return out;
  }
  return value;
}

// Asks for the results' shapes, makes the results by `make(index, result)`, and has them filled.
template <class Make>
void run(const Registered& registered, CustomOperator::Arguments arguments, Make&& make) {
  c10::SmallVector<CustomOperator::Result, 2> results(registered.result_count);
  registered.op->shape(arguments, results);
  Tensors tensors;
  for (size_t i = 0; i < results.size(); ++i) tensors.push_back(make(static_cast<int>(i), results[i]));
  registered.op->run(arguments, tensors);
}

// Run by Stator: the results go where the plan wants them.
void run_planned(const Call& call) {
  const auto& registered = call.data<Registered>();
  Values arguments;
  for (int i = 0; i < call.input_count(); ++i) arguments.push_back(plain(call.in(i), registered));
  run(registered, arguments,
      [&](int i, const CustomOperator::Result& result) { return call.output(i, result.shape, {}, result.dtype); });
}

// Run by LibTorch.
class Boxed final : public c10::OperatorKernel {
 public:
  explicit Boxed(const Registered& registered) : registered_(registered) {}

  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet, torch::jit::Stack* stack) {
    Values arguments;
    for (const c10::IValue& value : torch::jit::last(*stack, handle.schema().arguments().size()))
      arguments.push_back(plain(value, registered_));
    Tensors made;
    run(registered_, arguments, [&](int, const CustomOperator::Result& result) {
      return made.emplace_back(at::detail::empty_cpu(result.shape, result.dtype));
    });
    torch::jit::drop(*stack, arguments.size());
    for (at::Tensor& tensor : made) stack->emplace_back(std::move(tensor));
  }

 private:
  const Registered& registered_;
};

c10::FunctionSchema parse(const std::string& text) {
  try {
    return torch::schema(text.c_str());
  } catch (const c10::Error& error) {
    throw Error(ErrorCode::kInvalidArgument,
                "the schema \"" + text + "\" does not parse: " + error.what_without_backtrace());
  }
}

void check(const c10::FunctionSchema& schema, const std::string& text) {
  const auto refuse = [&](ErrorCode code, const std::string& why) {
    throw Error(code, "the schema \"" + text + "\" " + why);
  };
  if (!schema.getNamespace())
    refuse(ErrorCode::kInvalidArgument, "has no namespace; write it as in \"my::op(Tensor x) -> Tensor\"");
  if (schema.is_vararg() || schema.is_varret())
    refuse(ErrorCode::kUnsupported, "has \"...\"; arguments and results must be listed");
  for (const auto& list : {schema.arguments(), schema.returns()}) {
    for (const c10::Argument& argument : list) {
      if (argument.alias_info())
        refuse(ErrorCode::kUnsupported, "writes or returns an argument; results must be new tensors");
    }
  }
  for (const c10::Argument& result : schema.returns()) {
    if (result.type()->kind() != c10::TypeKind::TensorType)
      refuse(ErrorCode::kUnsupported,
             "has a result of type " + result.type()->annotation_str() + "; only Tensor is possible");
  }
  if (schema.returns().empty()) refuse(ErrorCode::kUnsupported, "has no result; at least one tensor is needed");
}

}  // namespace

void register_custom_operator(const std::string& text, std::unique_ptr<CustomOperator> op) {
  const c10::FunctionSchema schema = parse(text);
  check(schema, text);
  const c10::OperatorName& name = schema.operator_name();
  const std::string key = toString(name);

  std::lock_guard lock(custom_registry().mutex);
  if (c10::Dispatcher::singleton().findSchema(name))
    throw Error(ErrorCode::kInvalidArgument, "an operator \"" + key + "\" exists already");
  auto registered = std::make_unique<const Registered>(Registered{key, schema.returns().size(), std::move(op)});
  // One fragment an operator, kept for ever: its destructor would take the operator back.
  auto library = std::make_unique<torch::Library>(torch::Library::FRAGMENT, std::string(*schema.getNamespace()),
                                                  std::nullopt, "stator", 0);
  try {
    library->def(c10::FunctionSchema(schema));
    library->impl(key.c_str(),
                  torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd,
                                  torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Boxed>(*registered))));
  } catch (const c10::Error& error) {
    throw Error(ErrorCode::kInvalidArgument,
                "LibTorch refuses the operator \"" + key + "\": " + error.what_without_backtrace());
  }
  custom_registry().fragments.push_back(std::move(library));
  custom_registry().operators.emplace(key, std::move(registered));
}

std::optional<Implementation> custom_implementation(const Node& node) {
  std::lock_guard lock(custom_registry().mutex);
  auto found = custom_registry().operators.find(node.op->key);
  if (found == custom_registry().operators.end()) return std::nullopt;
  return Implementation{.run = run_planned,
                        .data = std::shared_ptr<const void>(std::shared_ptr<void>(), found->second.get()),
                        .kind = ImplKind::kOut};
}

}  // namespace stator
