// The tracer as binders see it: what it knows of the call at hand, and what becomes of what they say.
#include <algorithm>
#include <stdexcept>

#include "plan/parts.h"
#include "plan/restride.h"
#include "plan/tracer.h"

namespace stator {
namespace {

using ValueKind = TraceValue::Kind;

}  // namespace

const c10::IValue* Tracer::known(size_t i) const {
  const TraceValue& value = *input_value(i);
  return value.kind == ValueKind::kKnown ? &value.known : nullptr;
}

const TensorView* Tracer::as_seen(size_t i) const {
  const TraceValue& value = *input_value(i);
  return value.kind == ValueKind::kTensor ? &value.view : nullptr;
}

const TensorView* Tracer::tensor(size_t i) const {
  const TensorView* seen = as_seen(i);
  if (!seen || !elsewhere_.contains(seen->buffer)) return seen;
  return &shown_.emplace_back(as_lies_best(*seen));
}

// Where only a part of the elements is seen it stays as it is.
TensorView Tracer::as_lies_best(const TensorView& view) const {
  const auto there = elsewhere_.find(view.buffer);
  if (there == elsewhere_.end() || view.offset != 0) return view;
  const auto strides = restrided(view.meta, plan_->buffers[view.buffer].meta, there->second.meta.strides);
  if (!strides) return view;
  TensorView out = there->second;
  out.meta.sizes = view.meta.sizes;
  out.meta.strides = *strides;
  return out;
}

void Tracer::forget_elsewhere(const TraceValue& value) {
  for (const TraceValuePtr& element : value.elements) forget_elsewhere(*element);
  if (value.kind == ValueKind::kTensor) elsewhere_.erase(value.view.buffer);
}

std::optional<std::vector<TensorView>> Tracer::tensor_list(size_t i) const {
  const auto optional = optional_tensor_list(i);
  if (!optional) return std::nullopt;
  std::vector<TensorView> out;
  for (const auto& element : *optional) {
    if (!element) return std::nullopt;
    out.push_back(*element);
  }
  return out;
}

std::optional<std::vector<std::optional<TensorView>>> Tracer::optional_tensor_list(size_t i) const {
  const TraceValue& value = *input_value(i);
  if (auto constants = constant_lists_.find(input_value(i)); constants != constant_lists_.end())
    return constants->second;
  if (value.kind != ValueKind::kContainer) return std::nullopt;
  std::vector<std::optional<TensorView>> out;
  for (const TraceValuePtr& element : value.elements) {
    const bool none = element->kind == ValueKind::kKnown && element->known.isNone();
    if (element->kind != ValueKind::kTensor && !none) return std::nullopt;
    out.push_back(none ? std::nullopt : std::optional(as_lies_best(element->view)));
  }
  return out;
}

const at::Tensor* Tracer::constant(const TensorView& view) const {
  auto owner = owners_.find(view.buffer);
  if (owner == owners_.end()) return nullptr;
  const int64_t offset = owner->second.storage_offset() + view.offset / owner->second.element_size();
  constant_views_.push_back(owner->second.as_strided(view.meta.sizes, view.meta.strides, offset));
  return &constant_views_.back();
}

const TensorMeta* Tracer::observed(size_t i) const {
  const auto& outputs = recorded_->outputs;
  return i < outputs.size() && outputs[i] ? &*outputs[i] : nullptr;
}

TensorView Tracer::result(size_t i, at::ScalarType dtype, at::IntArrayRef sizes, at::IntArrayRef strides) {
  TensorMeta meta = TensorMeta::contiguous(dtype, sizes);
  if (!strides.empty()) meta.strides = strides;
  if (part_) return result_in_part(std::move(meta));
  const TensorMeta* seen = observed(i);
  const bool in_other_order = seen && strides.empty() && seen->dtype == dtype && seen->sizes == meta.sizes &&
                              meta.numel() > 0 && !same_strides(*seen, meta) && is_dense(*seen) && tile_type(dtype);
  if (!in_other_order) return new_result(i, std::move(meta));
  const TensorView to = new_result(i, *seen), from = scratch(dtype, sizes);
  made_elsewhere_.push_back({from, to});
  return from;
}

// There, or copied there.
TensorView Tracer::result_in_part(TensorMeta meta) {
  results_[0] = tensor_value(*part_);
  if (meta == part_->meta) return *part_;
  if (meta.dtype != part_->meta.dtype || meta.sizes != part_->meta.sizes || !meta.is_contiguous())
    throw std::domain_error("a result that does not fit");
  made_elsewhere_.push_back({scratch(meta.dtype, meta.sizes), *part_});
  return made_elsewhere_.back().from;
}

// Once all results of the call are made.
void Tracer::copy_to_results() {
  for (const auto& [from, to] : made_elsewhere_) {
    TileExpression expression(to.meta.sizes);
    expression.store(expression.load(from), to);
    run(std::move(expression));
    if (!part_) elsewhere_[to.buffer] = from;
  }
  made_elsewhere_.clear();
}

// Whether a tensor, or one of a list of them, lies contiguous elsewhere.
bool Tracer::lies_elsewhere(const TraceValue& value) const {
  if (value.kind == ValueKind::kTensor) {
    const auto there = elsewhere_.find(value.view.buffer);
    return there != elsewhere_.end() && there->second.meta.is_contiguous();
  }
  return std::any_of(value.elements.begin(), value.elements.end(),
                     [this](const TraceValuePtr& element) { return lies_elsewhere(*element); });
}

std::optional<TensorView> Tracer::result_elsewhere(size_t i) {
  const TraceValue& made = *results_[i];
  const TensorMeta& meta = made.view.meta;
  if (part_ || plan_->buffers[made.view.buffer].kind != Buffer::Kind::kWorkspace || meta.is_contiguous())
    return std::nullopt;
  bool any = false;
  for (size_t input = 0; input < node_->inputs.size(); ++input) any |= lies_elsewhere(*input_value(input));
  if (!any) return std::nullopt;
  return elsewhere_.insert_or_assign(made.view.buffer, scratch(meta.dtype, meta.sizes)).first->second;
}

TensorView Tracer::new_result(size_t i, TensorMeta meta) {
  Buffer buffer{.kind = Buffer::Kind::kWorkspace, .bytes = meta.bytes(), .exclusive = true, .meta = meta};
  Home home;
  if (in_place_of_ >= 0) {
    const Buffer& old = plan_->buffers[in_place_of_];
    buffer.home = old.home;
    buffer.kind = old.kind == Buffer::Kind::kArena ? Buffer::Kind::kArena : Buffer::Kind::kWorkspace;
    buffer.index = old.index;
  } else {
    buffer.home = home_of(i).kind;
    const int32_t operand = instruction_->operands + instruction_->input_count + static_cast<int32_t>(i);
    const int32_t planned = dynamic_.buffer_of_operand[operand];
    const bool has_arena = planned >= 0 && dynamic_.tensors[planned].place == Place::kArena;
    if (buffer.home == ResultHome::Kind::kArena && has_arena) {
      buffer.kind = Buffer::Kind::kArena;
      buffer.index = planned;
    } else if (buffer.home == ResultHome::Kind::kHeap || buffer.home == ResultHome::Kind::kElsewhere) {
      // Something may hold it when the run is over.
      emit(SignatureStep::Kind::kMake).meta = meta;
      buffer.kind = Buffer::Kind::kHolder;
      buffer.index = plan_->holder_count;
      home = {Home::Kind::kHolder, plan_->holder_count++};
    }
  }
  const BufferId id = add_buffer(buffer);
  if (buffer.kind == Buffer::Kind::kHolder) plan_->steps.back().results.push_back({.holder = home.index, .buffer = id});
  TensorView view{id, 0, std::move(meta)};
  TraceValue made{.kind = ValueKind::kTensor, .view = view, .home = home, .whole = true};
  results_[i] = std::make_shared<const TraceValue>(std::move(made));
  return view;
}

void Tracer::result_is(size_t i, TensorView view) { results_[i] = tensor_value(std::move(view)); }
void Tracer::result_is_known(size_t i, c10::IValue value) { results_[i] = known_value(std::move(value)); }

int64_t Tracer::parts(double nanoseconds) {
  const int64_t parts = parts_of_work(nanoseconds, plan_->signature.threads());
  plan_->shares_work |= parts > 1;
  return parts;
}

TensorView Tracer::scratch(at::ScalarType dtype, at::IntArrayRef sizes) {
  TensorMeta meta = TensorMeta::contiguous(dtype, sizes);
  const BufferId id = add_buffer({.kind = Buffer::Kind::kWorkspace, .bytes = meta.bytes()});
  return {id, 0, std::move(meta)};
}

TensorView Tracer::lasting(const at::Tensor& constant) {
  const BufferId id = add_buffer({.kind = Buffer::Kind::kConstant,
                                  .bytes = static_cast<int64_t>(constant.nbytes()),
                                  .address = const_cast<void*>(constant.const_data_ptr())});
  owners_[id] = constant;
  return {id, 0, TensorMeta::of(constant)};
}

TensorView Tracer::keep(at::Tensor constant) {
  TensorView view = lasting(constant);
  plan_->constants.push_back(std::move(constant));
  return view;
}

TensorView Tracer::packed(const at::Tensor& weight, std::string_view form, const TensorMeta& meta,
                          const std::function<void(at::Tensor&)>& fill) {
  plan_->packed.push_back(packed_.get(weight, form, meta, fill));
  return lasting(plan_->packed.back());
}

void Tracer::run(BoundKernel kernel, std::shared_ptr<const void> specification, std::vector<TensorView> reads,
                 std::vector<TensorView> writes, bool can_fail) {
  const int32_t at = can_fail ? snapshot(recorded_->pc) : -1;
  SignatureStep& step = emit(SignatureStep::Kind::kKernel);
  step.kernel = kernel;
  step.specification = std::move(specification);
  step.reads = std::move(reads);
  step.writes = std::move(writes);
  step.can_fail = can_fail;
  step.snapshot = at;
}

void Tracer::can_also(std::shared_ptr<const KernelVariants> variants) {
  plan_->steps.back().variants = std::move(variants);
}

void Tracer::run(TileExpression expression) {
  // An operator of a few inputs alone needs too much only of dimensions.
  constexpr size_t kFewInputs = 4;
  const bool is_large = expression.sizes().size() > kMostTileDims || expression.reads().size() > kFewInputs;
  if (is_large && !expression.compile())
    throw std::length_error("more dimensions than a tile program walks, or more values than it holds");
  emit(SignatureStep::Kind::kTile).tile = std::move(expression);
}

}  // namespace stator
