#include "ops/out_overload.h"

#include <c10/core/DefaultDtype.h>
#include <c10/util/SmallVector.h>

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "ops/fallback.h"
#include "ops/stack.h"
#include "ops/tensors.h"

namespace stator {
namespace {

// All that dtype, shape and strides of the results may depend on, as words.
using Signature = c10::SmallVector<int64_t, 64>;

// Appends what a result's description can depend on. False for arguments whose results are not to be remembered: tensors that are not
// plain, and values of kinds that such operators do not take.
bool describe(const c10::IValue& value, Signature& words) {
  const auto add = [&words](auto... word) { (words.push_back(static_cast<int64_t>(word)), ...); };
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (!is_plain(tensor)) return false;
    add('T', tensor.scalar_type(), tensor.unsafeGetTensorImpl()->is_wrapped_number(), tensor.dim());
    words.append(tensor.sizes().begin(), tensor.sizes().end());
    words.append(tensor.strides().begin(), tensor.strides().end());
  } else if (value.isNone()) {
    add('N');
  } else if (value.isInt()) {
    add('i', value.toInt());
  } else if (value.isBool()) {
    add('b', value.toBool());
  } else if (value.isDouble()) {
    add('d', std::bit_cast<int64_t>(value.toDouble()));
  } else if (value.isString()) {
    const std::string& text = value.toStringRef();
    add('s', text.size());
    words.append(text.begin(), text.end());
  } else if (value.isDevice()) {
    return value.toDevice().is_cpu();
  } else if (value.isList()) {
    const auto elements = value.toListRef();
    add('l', elements.size());
    return std::all_of(elements.begin(), elements.end(), [&](const c10::IValue& e) { return describe(e, words); });
  } else {
    return false;
  }
  return true;
}

struct Description {
  at::DimVector sizes, strides;
  at::ScalarType dtype;

  explicit Description(const at::Tensor& tensor)
      : sizes(tensor.sizes()), strides(tensor.strides()), dtype(tensor.scalar_type()) {}
  bool fits(const at::Tensor& tensor) const {
    return tensor.scalar_type() == dtype && tensor.sizes() == at::IntArrayRef(sizes) &&
           tensor.strides() == at::IntArrayRef(strides);
  }
};

// What the functional form gave for a signature.
struct Known {
  Signature signature;
  std::vector<Description> results;
  // False once the out form proved to be no substitute: the results are not plain, depend on data, or it refuses the arguments.
  mutable std::atomic<bool> usable{true};
};

// The few signatures that were seen first. Readers take no lock: entries are added, never changed or removed.
class Memory {
 public:
  const Known* find(const Signature& signature) const {
    const size_t count = count_.load(std::memory_order_acquire);
    for (size_t i = 0; i < count; ++i) {
      if (entries_[i]->signature == signature) return entries_[i].get();
    }
    return nullptr;
  }
  bool full() const { return count_.load(std::memory_order_relaxed) == entries_.size(); }
  void add(std::unique_ptr<Known> known) const {
    std::lock_guard lock(adding_);
    const size_t count = count_.load(std::memory_order_relaxed);
    if (count == entries_.size() || find(known->signature)) return;
    entries_[count] = std::move(known);
    count_.store(count + 1, std::memory_order_release);
  }

 private:
  mutable std::array<std::unique_ptr<Known>, 32> entries_;
  mutable std::atomic<size_t> count_{0};
  mutable std::mutex adding_;
};

struct OutOverload {
  const Operator* op = nullptr;
  c10::OperatorHandle out;
  std::vector<int> deciding;  // arguments that may change from run to run and with them the description of the results
  Memory memory = {};
};

// The functional form, and what is to be learned of it.
void run_and_learn(const Call& call, const OutOverload& overload, Signature signature) {
  run_boxed(*overload.op, call);
  auto known = std::make_unique<Known>();
  known->signature = std::move(signature);
  for (size_t i = 0; i < overload.op->schema.returns().size(); ++i) {
    const at::Tensor& result = call.out(static_cast<int>(i)).toTensor();
    if (!is_plain(result)) {
      known->usable = false;
      break;
    }
    known->results.emplace_back(result);
  }
  overload.memory.add(std::move(known));
}

// False if it did not do, and the functional form is to be called.
bool run_out(const Call& call, const OutOverload& overload, const Known& known) {
  BorrowedStack stack;
  for (int i = 0; i < call.input_count(); ++i) stack->push_back(call.in(i));
  c10::SmallVector<const void*, 4> places;
  for (size_t i = 0; i < known.results.size(); ++i) {
    const Description& result = known.results[i];
    const at::Tensor& out = call.output(static_cast<int>(i), result.sizes, result.strides, result.dtype);
    places.push_back(out.const_data_ptr());
    stack->emplace_back(out);
  }
  try {
    overload.out.callBoxed(*stack);
  } catch (const c10::Error&) {
    return false;  // The error, if it is one, is the functional form's to raise.
  }
  for (size_t i = 0; i < known.results.size(); ++i) {
    const at::Tensor& out = call.out(static_cast<int>(i)).toTensor();
    if (out.const_data_ptr() != places[i] || !known.results[i].fits(out)) return false;
  }
  return true;
}

void run_out_overload(const Call& call) {
  const auto& overload = call.data<OutOverload>();
  Signature signature;
  // Integers become numbers of the default dtype.
  signature.push_back(static_cast<int64_t>(c10::get_default_dtype_as_scalartype()));
  for (int i : overload.deciding) {
    if (!describe(call.in(i), signature)) return run_boxed(*overload.op, call);
  }
  const Known* known = overload.memory.find(signature);
  if (!known && !overload.memory.full()) return run_and_learn(call, overload, std::move(signature));
  if (known && known->usable && run_out(call, overload, *known)) return;
  run_boxed(*overload.op, call);
  if (known) known->usable = false;  // not reached where both forms refuse the arguments
}

bool is_functional(const c10::FunctionSchema& schema) {
  const auto unaliased = [](const c10::Argument& argument) { return argument.alias_info() == nullptr; };
  const auto is_tensor = [](const c10::Argument& result) { return result.type()->kind() == c10::TypeKind::TensorType; };
  return !schema.returns().empty() && !schema.is_vararg() && !schema.is_varret() &&
         std::all_of(schema.arguments().begin(), schema.arguments().end(), unaliased) &&
         std::all_of(schema.returns().begin(), schema.returns().end(), unaliased) &&
         std::all_of(schema.returns().begin(), schema.returns().end(), is_tensor);
}

// The functional arguments, and then a tensor to write for each result.
bool is_out_form(const c10::FunctionSchema& out, const c10::FunctionSchema& functional) {
  const auto &given = functional.arguments(), &taken = out.arguments();
  if (taken.size() != given.size() + functional.returns().size()) return false;
  for (size_t i = 0; i < taken.size(); ++i) {
    if (i < given.size()) {
      if (taken[i].name() != given[i].name() || *taken[i].type() != *given[i].type() || taken[i].alias_info())
        return false;
    } else if (!taken[i].is_out() || taken[i].type()->kind() != c10::TypeKind::TensorType) {
      return false;
    }
  }
  return true;
}

// Overloads of every operator that was in the dispatcher when a name was asked for that was not known before.
std::vector<c10::OperatorName> overloads_of(const std::string& name) {
  static std::mutex mutex;
  static auto& by_name = *new std::unordered_map<std::string, std::vector<c10::OperatorName>>;
  std::lock_guard lock(mutex);
  auto found = by_name.find(name);
  if (found != by_name.end()) return found->second;
  by_name.clear();
  for (const c10::OperatorName& each : c10::Dispatcher::singleton().getAllOpNames()) by_name[each.name].push_back(each);
  return by_name[name];
}

struct Found {
  std::optional<c10::OperatorHandle> out = {};
  const char* reason = "";  // why there is none
};

Found find_out_overload(const Operator& op) {
  if (!op.in_dispatcher()) return {.reason = "TorchScript's own function, no native op registered"};
  if (!is_functional(op.schema)) return {.reason = "does not make fresh tensors, no native op registered"};
  if (op.handle->hasTag(at::Tag::nondeterministic_seeded)) return {.reason = "draws random numbers"};
  if (op.handle->hasTag(at::Tag::dynamic_output_shape)) return {.reason = "the size of its result depends on data"};
  const char* reason = "LibTorch has no out form of it";
  const bool composite = op.handle->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
  for (const c10::OperatorName& name : overloads_of(op.name)) {
    auto handle = c10::Dispatcher::singleton().findSchema(name);
    if (!handle || !is_out_form(handle->schema(), op.schema)) continue;
    if (!composite && handle->hasKernelForDispatchKey(c10::DispatchKey::CPU)) return {.out = std::move(handle)};
    reason = "LibTorch's out form of it does not write in place";
  }
  return {.reason = reason};
}

// Constants of these kinds stay as they are.
bool decides_nothing(const c10::IValue& constant) {
  return !constant.isTensor() &&
         (!constant.isList() || constant.isIntList() || constant.isDoubleList() || constant.isBoolList());
}

}  // namespace

Implementation out_overload(const Node& node) {
  auto found = find_out_overload(*node.op);
  if (!found.out) return {.reason = found.reason};
  auto data = std::make_shared<OutOverload>(node.op, *found.out);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const c10::IValue* constant = constant_of(node.inputs[i]);
    if (!constant || !decides_nothing(*constant)) data->deciding.push_back(static_cast<int>(i));
  }
  return {.run = run_out_overload, .data = std::move(data), .kind = ImplKind::kOut};
}

}  // namespace stator
