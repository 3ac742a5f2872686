// One call of an operator: known, a view, bound kernels, or the dynamic plan's own instruction; the first that fits.
#include <ATen/ops/empty_strided.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <array>

#include "analysis/effects.h"
#include "analysis/unsaid.h"
#include "plan/tracer.h"
#include "plan/wide_binding.h"

namespace stator {
namespace {

constexpr int64_t kMostFoldedBytes = 4096;

using ValueKind = TraceValue::Kind;

template <size_t N>
bool among(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// What they say follows from a tensor's looks.
constexpr std::array<std::string_view, 13> kShapeQueries{
    "aten::size",       "aten::size.int",      "aten::dim",         "aten::numel", "aten::len.Tensor",
    "aten::stride",     "aten::stride.int",    "prim::dtype",       "prim::shape", "aten::is_floating_point",
    "aten::is_complex", "aten::is_contiguous", "aten::sym_size.int"};

// Where they give no view, they give a copy of the elements in the same order.
bool copies_elements(const Operator& op) {
  return may_copy(op) || op.name == "aten::clone" || op.name == "aten::_to_copy" || op.name == "aten::type_as";
}

// In-place operators that may give a tensor another shape, or other memory.
constexpr std::array<std::string_view, 8> kReshaping{"aten::resize_",  "aten::resize_as_",       "aten::set_",
                                                     "aten::set_data", "aten::swapaxes_",        "aten::swapdims_",
                                                     "aten::rename_",  "aten::resize_as_sparse_"};

bool holds_tensors(const c10::IValue& value) {
  return value.isTensor() || value.isTensorList() ||
         (value.isPtrType() && !value.isString() && !value.isIntList() && !value.isDoubleList() && !value.isBoolList());
}

at::Tensor without_elements(const TensorMeta& meta) {
  return at::empty_strided(meta.sizes, meta.strides, at::TensorOptions(meta.dtype).device(at::kMeta));
}

bool is_written(const c10::Argument& argument) { return argument.alias_info() && argument.alias_info()->isWrite(); }

bool is_plain_in_place(const Operator& op) {
  const auto& arguments = op.schema.arguments();
  return op.in_dispatcher() && op.name.back() == '_' && !arguments.empty() && is_written(arguments[0]) &&
         std::none_of(arguments.begin() + 1, arguments.end(), is_written) && !among(kReshaping, op.name) &&
         !op.handle->hasTag(at::Tag::inplace_view);
}

}  // namespace

bool Tracer::trace_call() {
  results_.assign(node_->outputs.size(), nullptr);
  shown_.clear();
  return trace_structure() || trace_meta() || trace_folded() || trace_bound() || trace_in_place() || trace_dynamic();
}

// Containers -------------------------------------------------------------------------------------------------------

bool Tracer::unpack(const std::vector<TraceValuePtr>& elements) {
  if (elements.size() != node_->outputs.size()) return false;
  for (size_t i = 0; i < elements.size(); ++i) define(i, elements[i]);
  return true;
}

// A list of numbers that all are known, as sizes are.
std::optional<c10::IValue> Tracer::known_list() const {
  const c10::TypePtr& type = node_->output()->type;
  if (type->kind() != c10::TypeKind::ListType) return std::nullopt;
  const c10::TypePtr& element = type->castRaw<c10::ListType>()->getElementType();
  const auto kind = element->kind();
  if (kind != c10::TypeKind::IntType && kind != c10::TypeKind::FloatType && kind != c10::TypeKind::BoolType)
    return std::nullopt;
  c10::impl::GenericList list(element);
  for (size_t i = 0; i < node_->inputs.size(); ++i) {
    if (!known(i)) return std::nullopt;
    list.push_back(*known(i));
  }
  return c10::IValue(std::move(list));
}

bool Tracer::trace_structure() {
  const auto is_container = [this](size_t i) { return input_value(i)->kind == ValueKind::kContainer; };
  switch (node_->opcode) {
    case Opcode::kListConstruct:
    case Opcode::kTupleConstruct: {
      if (home_of(0).written || home_of(0).kind == ResultHome::Kind::kHeap) return false;
      if (const auto list = known_list()) {
        define(0, known_value(*list));
        return true;
      }
      TraceValue container{.kind = ValueKind::kContainer, .type = node_->output()->type};
      for (size_t i = 0; i < node_->inputs.size(); ++i) container.elements.push_back(input_value(i));
      define(0, std::make_shared<const TraceValue>(std::move(container)));
      return true;
    }
    case Opcode::kListUnpack:
    case Opcode::kTupleUnpack:
      return is_container(0) && unpack(input_value(0)->elements);
    case Opcode::kTupleIndex:
      break;
    case Opcode::kOperator:
      if (node_->op->key == "prim::unchecked_cast" || node_->op->key == "aten::_unwrap_optional") {
        if (input_value(0)->kind == ValueKind::kOpaque || (known(0) && known(0)->isNone())) return false;
        define(0, input_value(0));
        return true;
      }
      if (node_->op->key == "aten::len.t" && is_container(0)) {
        define(0, known_value(static_cast<int64_t>(input_value(0)->elements.size())));
        return true;
      }
      if (node_->op->key != "aten::__getitem__.t") return false;
      break;
    default:
      return false;
  }
  if (!is_container(0) || !known(1)) return false;
  const auto& elements = input_value(0)->elements;
  int64_t index = known(1)->toInt();
  if (index < 0) index += static_cast<int64_t>(elements.size());
  if (index < 0 || index >= static_cast<int64_t>(elements.size())) return false;
  define(0, elements[index]);
  return true;
}

// Views, and what can be said of a tensor without its elements --------------------------------------------------------

bool Tracer::trace_meta() {
  if (node_->opcode != Opcode::kOperator || node_->op->schema.is_mutable() || node_->inputs.empty() || !as_seen(0))
    return false;
  const Operator& op = *node_->op;
  if (op.key == "prim::device") {
    define(0, known_value(c10::Device(at::kCPU)));
    return true;
  }
  const bool query = among(kShapeQueries, op.key);
  const auto& arguments = op.schema.arguments();
  if (arguments.empty()) return false;  // as many as there are, of any type
  if (!query && !arguments[0].alias_info() && !may_return_argument(op) && !copies_elements(op)) return false;
  if (is_random(*node_)) return false;
  std::vector<c10::IValue> stack;
  for (size_t i = 0; i < node_->inputs.size(); ++i) {
    if (as_seen(i)) {
      stack.emplace_back(without_elements(as_seen(i)->meta));
    } else if (known(i)) {
      stack.push_back(*known(i));
      if (i < arguments.size() && arguments[i].name() == "device" && stack.back().isDevice())
        stack.back() = c10::Device(at::kMeta);
    } else {
      return false;
    }
  }
  const std::vector<c10::IValue> given = stack;
  try {
    c10::InferenceMode inference;
    op.boxed(stack);
  } catch (const std::exception&) {
    return false;
  }
  if (stack.size() != node_->outputs.size()) return false;
  const auto aliased = [&](const at::Tensor& made) -> const TensorView* {
    for (size_t i = 0; i < given.size(); ++i) {
      if (given[i].isTensor() && made.is_alias_of(given[i].toTensor())) return as_seen(i);
    }
    return nullptr;
  };
  // A view is another tensor, also one that looks alike.
  const auto same_tensor = [&](const at::Tensor& made) -> TraceValuePtr {
    for (size_t i = 0; i < given.size(); ++i) {
      if (given[i].isTensor() && made.is_same(given[i].toTensor())) return input_value(i);
    }
    return nullptr;
  };
  const Mark mark = here();
  if (!take_meta(stack, query, aliased, same_tensor) || !adopt_results()) {
    go_back(mark);
    return false;
  }
  return true;
}

bool Tracer::take_meta(const std::vector<c10::IValue>& stack, bool query,
                       const std::function<const TensorView*(const at::Tensor&)>& aliased,
                       const std::function<TraceValuePtr(const at::Tensor&)>& same_tensor) {
  const auto seen_through = [](const TensorView& from, const at::Tensor& made) {
    return TensorView{from.buffer, from.offset + made.storage_offset() * static_cast<int64_t>(made.itemsize()),
                      TensorMeta::of(made)};
  };
  for (size_t i = 0; i < stack.size(); ++i) {
    if (query) {
      result_is_known(i, stack[i]);
    } else if (stack[i].isTensor()) {
      const at::Tensor& made = stack[i].toTensor();
      const TensorView* from = aliased(made);
      if (from && from->meta.dtype != made.scalar_type()) return false;
      if (const TraceValuePtr same = same_tensor(made)) {
        results_[i] = same;
      } else if (from) {
        result_is(i, seen_through(*from, made));
      } else if (!copies_elements(*node_->op) || !copy(i, *tensor(0), TensorMeta::of(made))) {
        return false;
      }
    } else if (stack[i].isTensorList()) {
      TraceValue list{.kind = ValueKind::kContainer, .type = node_->output(i)->type};
      if (home_of(i).written) return false;
      for (const at::Tensor& made : stack[i].toTensorVector()) {
        const TensorView* from = aliased(made);
        if (!from || from->meta.dtype != made.scalar_type()) return false;
        list.elements.push_back(tensor_value(seen_through(*from, made)));
      }
      results_[i] = std::make_shared<const TraceValue>(std::move(list));
    } else {
      return false;
    }
  }
  return true;
}

// The elements of `from`, in their order, as a tensor that looks like `result`.
bool Tracer::copy(size_t output, const TensorView& from, const TensorMeta& meta) {
  if (!tile_type(from.meta.dtype) || !tile_type(meta.dtype)) return false;
  const bool reshaped = meta.sizes != from.meta.sizes;
  if (reshaped && (meta.dtype != from.meta.dtype || !meta.is_contiguous())) return false;
  TensorView to = result(output, meta.dtype, meta.sizes, meta.strides);
  TensorView target = to;
  if (reshaped) target.meta = TensorMeta::contiguous(meta.dtype, from.meta.sizes);
  TileExpression expression(from.meta.sizes);
  expression.store(expression.cast(expression.load(from), from.meta.dtype, meta.dtype), target);
  if (!expression.compile()) return false;
  run(std::move(expression));
  return true;
}

// What follows from the signature ---------------------------------------------------------------------------------------

bool Tracer::trace_folded() {
  if (node_->opcode != Opcode::kOperator || node_->inputs.empty() || !is_pure(*node_) || is_random(*node_) ||
      reads_environment(*node_))
    return false;
  std::vector<c10::IValue> stack;
  for (size_t i = 0; i < node_->inputs.size(); ++i) {
    const at::Tensor* weight = tensor(i) ? constant(*tensor(i)) : nullptr;
    if (weight && static_cast<int64_t>(weight->nbytes()) <= kMostFoldedBytes) {
      stack.emplace_back(*weight);
    } else if (known(i)) {
      stack.push_back(*known(i));
    } else {
      return false;
    }
  }
  for (size_t i = 0; i < node_->outputs.size(); ++i) {
    if (home_of(i).written || home_of(i).kind == ResultHome::Kind::kHeap) return false;
    if (node_->output(i)->is_tensor() && (!observed(i) || observed(i)->bytes() > kMostFoldedBytes)) return false;
  }
  try {
    c10::InferenceMode inference;
    node_->op->boxed(stack);
  } catch (const std::exception&) {
    return false;  // the model's own error, when it runs
  }
  if (stack.size() != node_->outputs.size()) return false;
  for (const c10::IValue& value : stack) {
    if (!is_plain(value) && (holds_tensors(value) || value.isObject())) return false;
  }
  const Mark mark = here();
  for (size_t i = 0; i < stack.size(); ++i) {
    if (stack[i].isTensor()) {
      result_is(i, keep(stack[i].toTensor()));
    } else {
      result_is_known(i, stack[i]);
    }
  }
  if (adopt_results()) return true;
  go_back(mark);
  return false;
}

// Bound kernels -----------------------------------------------------------------------------------------------------------

bool Tracer::trace_bound() {
  const Binder binder = find_binder(*node_);
  return binder && bind(binder);
}

Tracer::Mark Tracer::here() const {
  return {plan_->steps.size(), plan_->buffers.size(), plan_->constants.size(), plan_->snapshots.size(),
          plan_->holder_count};
}

void Tracer::go_back(const Mark& mark) {
  plan_->steps.resize(mark.steps);
  for (size_t buffer = mark.buffers; buffer < plan_->buffers.size(); ++buffer)
    owners_.erase(static_cast<BufferId>(buffer));
  plan_->buffers.resize(mark.buffers);
  plan_->constants.resize(mark.constants);
  plan_->snapshots.resize(mark.snapshots);
  plan_->holder_count = mark.holders;
  made_elsewhere_.clear();
  std::erase_if(elsewhere_, [&](const auto& place) { return place.first >= static_cast<BufferId>(mark.buffers); });
  results_.assign(node_->outputs.size(), nullptr);
}

bool Tracer::bind(Binder binder) {
  const auto as_it_is = [&] { return binder(*this); };
  const auto as_float = [&] { return WideBinding(*this).bind(binder); };
  return try_to_bind(as_it_is) || try_to_bind(as_float);
}

bool Tracer::try_to_bind(const std::function<bool()>& bind) {
  const Mark mark = here();
  results_.assign(node_->outputs.size(), nullptr);
  try {
    c10::InferenceMode inference;
    if (bind() && adopt_results()) {
      copy_to_results();
      ++plan_->bound_count;
      return true;
    }
  } catch (const std::exception&) {
    // What it asked of LibTorch is an error; the operator will say which.
  }
  go_back(mark);
  return false;
}

// Compares the results with what was observed; those that agree are what the slots hold from here on.
bool Tracer::adopt_results() {
  for (size_t i = 0; i < results_.size(); ++i) {
    if (!results_[i]) return false;
    if (results_[i]->kind != ValueKind::kTensor) continue;
    TensorMeta meta = results_[i]->view.meta;
    const TensorMeta* seen = observed(i);
    if (!seen || seen->dtype != meta.dtype || seen->sizes != meta.sizes) return false;
    // Strides that lead nowhere are LibTorch's to choose.
    const bool empty = meta.numel() == 0;
    for (size_t d = 0; d < meta.sizes.size(); ++d) {
      if (empty || meta.sizes[d] == 1) meta.strides[d] = seen->strides[d];
    }
    if (meta != *seen) return false;
    if (results_[i]->view.meta.strides == meta.strides) continue;
    TraceValue adopted = *results_[i];
    if (adopted.whole) plan_->buffers[adopted.view.buffer].meta = meta;
    adopted.view.meta = std::move(meta);
    results_[i] = std::make_shared<const TraceValue>(std::move(adopted));
  }
  for (size_t i = 0; i < results_.size(); ++i) define(i, results_[i]);
  return true;
}

// An in-place operator on memory of the plan's own is the functional one, into new memory, if all that sees the memory sees just this
// tensor of it, or nothing of it.
bool Tracer::trace_in_place() {
  if (node_->opcode != Opcode::kOperator || !is_plain_in_place(*node_->op) || !as_seen(0)) return false;
  std::string key = node_->op->key;
  key.erase(node_->op->name.size() - 1, 1);
  const Binder binder = find_binder(key);
  const TensorView view = *as_seen(0);
  const Buffer& buffer = plan_->buffers[view.buffer];
  if (!binder || !buffer.exclusive || buffer.pinned || buffer.home == ResultHome::Kind::kHeap ||
      buffer.home == ResultHome::Kind::kElsewhere)
    return false;
  if (buffer.kind == Buffer::Kind::kHolder && buffer.home == ResultHome::Kind::kArena) return false;
  const bool has_parts = buffer.kind == Buffer::Kind::kWorkspace;
  const auto in_the_way = [&](const auto& self, const TraceValue& value, bool contained) -> bool {
    if (value.kind == ValueKind::kTensor) {
      if (value.view.buffer != view.buffer || (has_parts && are_apart(value.view, view))) return false;
      return contained || value.view != view;
    }
    return std::any_of(value.elements.begin(), value.elements.end(),
                       [&](const TraceValuePtr& element) { return self(self, *element, true); });
  };
  // Planned tensors stay in their slots when nothing reads them any more.
  for (int32_t slot : live_.before(recorded_->pc + 1)) {
    if (env_[slot] && in_the_way(in_the_way, *env_[slot], false)) return write_part(binder, view);
  }
  std::vector<int32_t> seen_in;
  for (size_t slot = 0; slot < env_.size(); ++slot) {
    if (env_[slot] && env_[slot]->kind == ValueKind::kTensor && env_[slot]->view == view)
      seen_in.push_back(static_cast<int32_t>(slot));
  }
  if (!observed(0) || observed(0)->dtype != view.meta.dtype || observed(0)->sizes != view.meta.sizes) return false;
  in_place_of_ = view.buffer;
  const bool bound = bind(binder);
  in_place_of_ = -1;
  if (!bound) return false;
  Buffer& old = plan_->buffers[view.buffer];
  if (old.kind == Buffer::Kind::kArena) old.kind = Buffer::Kind::kWorkspace;
  const TraceValuePtr made = env_[slot_of(*instruction_, instruction_->input_count)];
  for (int32_t slot : seen_in) env_[slot] = made;
  return true;
}

// The dynamic plan's own instruction ------------------------------------------------------------------------------------------

// False where more than elements, or more than one tensor, may change.
bool Tracer::may_run_dynamic() const {
  if (node_->opcode != Opcode::kOperator) return true;
  const Operator& op = *node_->op;
  if (is_opaque(op) || takes_memory(op)) return false;
  if (!op.schema.is_mutable()) return true;
  if (writes_statistics(*node_)) return false;
  if (!op.in_dispatcher()) {
    // Containers: what is written by any operator is no container of ours.
    return std::none_of(node_->inputs.begin(), node_->inputs.end(),
                        [](const Value* input) { return input->is_tensor(); }) ||
           op.name == "aten::append" || op.name == "aten::insert" || op.name == "aten::_set_item" ||
           op.name == "aten::extend";
  }
  return is_plain_in_place(op);
}

// Something may hold on to the memory of the arguments after the call.
bool Tracer::keeps_inputs() const {
  if (instruction_->kind != InstructionKind::kCall || !is_pure(*node_)) return true;
  for (size_t i = 0; i < node_->outputs.size(); ++i) {
    const ResultHome home = home_of(i);
    if (may_alias(node_->output(i)->type) && (home.kind == ResultHome::Kind::kElsewhere || home.maybe_view))
      return true;
    if (may_alias(node_->output(i)->type) && !node_->output(i)->is_tensor()) return true;
  }
  return false;
}

void Tracer::pin(const TraceValue& value) {
  for (const TraceValuePtr& element : value.elements) pin(*element);
  if (value.kind != ValueKind::kTensor) return;
  Buffer& buffer = plan_->buffers[value.view.buffer];
  buffer.pinned = true;
  if (buffer.place >= 0) plan_->buffers[buffer.place].pinned = true;
}

bool Tracer::trace_dynamic() {
  if (!may_run_dynamic()) return false;
  const bool in_place = node_->opcode == Opcode::kOperator && node_->op->schema.is_mutable() && as_seen(0);
  if (in_place && (!observed(0) || *observed(0) != as_seen(0)->meta) && !node_->outputs.empty()) return false;
  for (int32_t i = 0; i < instruction_->input_count; ++i) put(slot_of(*instruction_, i));
  if (keeps_inputs()) {
    for (int32_t i = 0; i < instruction_->input_count; ++i) pin(*env_[slot_of(*instruction_, i)]);
  }
  SignatureStep& step = emit(SignatureStep::Kind::kCall);
  for (int32_t i = 0; i < instruction_->input_count; ++i) step.inputs.push_back(env_[slot_of(*instruction_, i)]);
  step.barrier = instruction_->kind != InstructionKind::kCall || !is_pure(*node_);
  if (in_place && !node_->outputs.empty()) {
    const int32_t slot = slot_of(*instruction_, instruction_->input_count);
    step.results.push_back({.slot = slot, .holder = plan_->holder_count});
    define(0, tensor_value(*as_seen(0), {Home::Kind::kHolder, plan_->holder_count++}));
    physical_[slot] = env_[slot];
    return true;
  }
  for (size_t i = 0; i < node_->outputs.size(); ++i) add_result(step, i);
  const bool expects =
      std::any_of(step.results.begin(), step.results.end(), [](const auto& r) { return r.meta.has_value(); });
  // The recorded step after this one is where the dynamic plan goes on.
  if (expects) {
    const int32_t at = snapshot(recorded_->pc + 1);
    plan_->steps.back().snapshot = at;
  }
  return true;
}

void Tracer::add_result(SignatureStep& step, size_t output) {
  const int32_t slot = slot_of(*instruction_, instruction_->input_count + static_cast<int32_t>(output));
  SignatureStep::Result made{.slot = slot, .holder = plan_->holder_count++};
  const Home home{Home::Kind::kHolder, made.holder};
  const TensorMeta* seen = observed(output);
  if (!seen) {
    env_[slot] = std::make_shared<const TraceValue>(TraceValue{.home = home});
  } else {
    const bool made_here = instruction_->kind == InstructionKind::kCall && !home_of(output).maybe_view;
    const ResultHome::Kind home_kind = made_here ? home_of(output).kind : ResultHome::Kind::kElsewhere;
    const bool placed = home_kind == ResultHome::Kind::kWorkspace && dynamic_.planner != PlannerKind::kNone &&
                        dynamic_.nodes[instruction_->node].implementation.kind == ImplKind::kOut;
    if (placed) made.place = add_buffer({.kind = Buffer::Kind::kWorkspace, .bytes = seen->bytes()});
    made.meta = *seen;
    made.buffer = add_buffer({.kind = Buffer::Kind::kHolder,
                              .bytes = seen->bytes(),
                              .index = made.holder,
                              .place = made.place,
                              .home = home_kind,
                              .exclusive = home_kind != ResultHome::Kind::kElsewhere});
    env_[slot] = tensor_value({made.buffer, 0, *seen}, home);
  }
  physical_[slot] = env_[slot];
  step.results.push_back(std::move(made));
}

}  // namespace stator
