// An operator in place on a part of a tensor (`x[:, 0] = y`), as a new tensor: what the functional operator gives, and around it what was there.
#include <algorithm>

#include "plan/restride.h"
#include "plan/tracer.h"

namespace stator {
namespace {

using ValueKind = TraceValue::Kind;

// Copying more than that costs what LibTorch's call does.
constexpr int64_t kMostCopiedBytes = 16384;

// A range of each dimension of a tensor.
struct Box {
  at::DimVector first, size;
};

// The ranges that a view sees of the whole, of which it is a part; nullopt if it skips elements within them.
std::optional<Box> box_of(const TensorView& view, const TensorMeta& whole) {
  Box box{at::DimVector(whole.sizes.size(), 0), at::DimVector(whole.sizes.size(), 1)};
  std::vector<size_t> dims;
  for (size_t d = 0; d < whole.sizes.size(); ++d) {
    if (whole.sizes[d] != 1) dims.push_back(d);
  }
  std::stable_sort(dims.begin(), dims.end(), [&](size_t a, size_t b) { return whole.strides[a] > whole.strides[b]; });
  int64_t offset = view.offset / view.meta.itemsize();
  for (size_t d : dims) {
    box.first[d] = offset / whole.strides[d];
    offset %= whole.strides[d];
  }
  for (size_t i = 0; i < view.meta.sizes.size(); ++i) {
    if (view.meta.sizes[i] == 1) continue;
    const auto d =
        std::find_if(dims.begin(), dims.end(), [&](size_t d) { return whole.strides[d] == view.meta.strides[i]; });
    if (d == dims.end() || box.size[*d] != 1) return std::nullopt;
    box.size[*d] = view.meta.sizes[i];
    if (box.first[*d] + box.size[*d] > whole.sizes[*d]) return std::nullopt;
  }
  return box;
}

// The rest of the whole, as boxes that have nothing in common.
std::vector<Box> around(const Box& inner, const TensorMeta& whole) {
  std::vector<Box> out;
  Box rest{at::DimVector(whole.sizes.size(), 0), whole.sizes};
  for (size_t d = 0; d < whole.sizes.size(); ++d) {
    const int64_t end = inner.first[d] + inner.size[d];
    for (const auto& [first, size] : {std::pair(int64_t{0}, inner.first[d]), std::pair(end, whole.sizes[d] - end)}) {
      if (size == 0) continue;
      out.push_back(rest);
      out.back().first[d] = first;
      out.back().size[d] = size;
    }
    rest.first[d] = inner.first[d];
    rest.size[d] = inner.size[d];
  }
  return out;
}

TensorView view_of(const Box& box, BufferId buffer, TensorMeta meta) {
  int64_t offset = 0;
  for (size_t d = 0; d < box.first.size(); ++d) offset += box.first[d] * meta.strides[d];
  meta.sizes = box.size;
  return {buffer, offset * meta.itemsize(), std::move(meta)};
}

}  // namespace

bool Tracer::write_part(Binder binder, const TensorView& view) {
  const Buffer old = plan_->buffers[view.buffer];
  if (old.kind != Buffer::Kind::kWorkspace && old.kind != Buffer::Kind::kArena) return false;
  if (old.bytes > kMostCopiedBytes || old.meta.dtype != view.meta.dtype || !is_dense(old.meta)) return false;
  const auto box = tile_type(old.meta.dtype) && view.meta.numel() > 0 ? box_of(view, old.meta) : std::nullopt;
  if (!box || !observed(0) || *observed(0) != view.meta) return false;
  const Mark mark = here();
  const BufferId fresh = add_buffer(old);
  part_ = TensorView{fresh, view.offset, view.meta};
  const bool bound = bind(binder);
  part_.reset();
  if (!bound) {
    go_back(mark);
    return false;
  }
  for (const Box& rest : around(*box, old.meta)) {
    const TensorView from = view_of(rest, view.buffer, old.meta), to = view_of(rest, fresh, old.meta);
    TileExpression expression(to.meta.sizes);
    expression.store(expression.load(from), to);
    run(std::move(expression));
  }
  if (old.kind == Buffer::Kind::kArena) plan_->buffers[view.buffer].kind = Buffer::Kind::kWorkspace;
  const TraceValuePtr made = env_[slot_of(*instruction_, instruction_->input_count)];
  std::unordered_map<const TraceValue*, TraceValuePtr> moved;
  for (TraceValuePtr& value : env_) {
    if (value)
      value =
          value->kind == ValueKind::kTensor && value->view == view ? made : in_buffer(value, view.buffer, fresh, moved);
  }
  return true;
}

// The same value, with what it has of buffer `from` in buffer `to`.
TraceValuePtr Tracer::in_buffer(const TraceValuePtr& value, BufferId from, BufferId to,
                                std::unordered_map<const TraceValue*, TraceValuePtr>& moved) {
  const bool sees_it = value->kind == ValueKind::kTensor && value->view.buffer == from;
  if (!sees_it && value->kind != ValueKind::kContainer) return value;
  TraceValuePtr& known = moved[value.get()];
  if (known) return known;
  TraceValue out = *value;
  if (sees_it) out.view.buffer = to;
  bool changed = sees_it;
  for (TraceValuePtr& element : out.elements) {
    TraceValuePtr there = in_buffer(element, from, to, moved);
    changed |= there != element;
    element = std::move(there);
  }
  return moved[value.get()] = changed ? std::make_shared<const TraceValue>(std::move(out)) : value;
}

}  // namespace stator
