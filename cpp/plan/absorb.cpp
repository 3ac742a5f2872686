#include "plan/absorb.h"

#include <algorithm>

#include "plan/restride.h"
#include "plan/uses.h"

namespace stator {
namespace {

using StepKind = SignatureStep::Kind;

// How a step reads a buffer.
struct Reader {
  enum class Kind : uint8_t {
    kTile,      // a pointwise step, as a load
    kSnapshot,  // only if the run leaves the plan at the step
    kOther,
  } kind;
  int32_t step;
};

class Absorber {
 public:
  explicit Absorber(SignaturePlan& plan) : plan_(plan), readers_(plan.buffers.size()), writers_(plan.buffers.size()) {
    for (size_t i = 0; i < plan_.steps.size(); ++i) note_uses(static_cast<int32_t>(i));
  }

  void run() {
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      if (plan_.steps[i].kind == StepKind::kTile) absorb(static_cast<int32_t>(i));
    }
    std::erase_if(plan_.steps, [](const SignatureStep& step) { return step.tile && step.tile->stores_nothing(); });
  }

 private:
  void note_uses(int32_t i) {
    const SignatureStep& step = plan_.steps[i];
    for (const TensorView& view : step.reads) readers_[view.buffer].push_back({Reader::Kind::kOther, i});
    if (step.tile) {
      for (const TensorView& view : step.tile->reads()) readers_[view.buffer].push_back({Reader::Kind::kTile, i});
    }
    const bool leaves_always = step.kind == StepKind::kLeave;
    for_each_value(step, [&](const TraceValue& value) { note_value(value, {Reader::Kind::kOther, i}); });
    for_each_value_left(plan_, step, [&](const TraceValue& value) {
      note_value(value, {leaves_always ? Reader::Kind::kOther : Reader::Kind::kSnapshot, i});
    });
    for_each_write(step, [&](BufferId buffer) { writers_[buffer].push_back(i); });
  }

  void note_value(const TraceValue& value, Reader reader) {
    if (value.kind != TraceValue::Kind::kTensor) return;
    readers_[value.view.buffer].push_back(reader);
    const Buffer& buffer = plan_.buffers[value.view.buffer];
    if (buffer.kind == Buffer::Kind::kCopied)
      readers_[buffer.source.buffer].push_back({Reader::Kind::kOther, reader.step});
  }

  void absorb(int32_t i) {
    auto transfer = plan_.steps[i].tile->as_transfer();
    if (!transfer || absorb(*transfer, i) || !transfer->addend) return;
    std::swap(transfer->from, *transfer->addend);
    absorb(*transfer, i);
  }

  bool absorb(const TileExpression::Transfer& transfer, int32_t i) {
    const BufferId from = transfer.from.buffer, to = transfer.to.buffer;
    const Buffer& buffer = plan_.buffers[from];
    if (buffer.kind != Buffer::Kind::kWorkspace || buffer.pinned || writers_[from].size() != 1) return false;
    const int32_t maker = writers_[from][0];
    if (!can_do_without(transfer, i) || !is_there(to, maker, i)) return false;
    if (transfer.addend && !can_be_added(transfer.addend->buffer, maker, i)) return false;
    const auto place = write(maker, transfer);
    if (!place) return false;
    if (transfer.addend) note_addend(transfer.addend->buffer, maker, i);
    redirect_readers(transfer, i, *place);
    plan_.steps[i].tile->keep_stores([](const TensorView&) { return false; });
    std::replace(writers_[to].begin(), writers_[to].end(), i, maker);
    std::vector<int32_t>& joined = plan_.steps[maker].joined;
    joined.insert(joined.end(), plan_.steps[i].joined.begin(), plan_.steps[i].joined.end());
    joined.push_back(plan_.steps[i].pc);
    return true;
  }

  // All others that read what step `i` hands on can have it from where it is handed to.
  bool can_do_without(const TileExpression::Transfer& transfer, int32_t i) const {
    bool read_later = false;
    for (const Reader& reader : readers_[transfer.from.buffer]) {
      if (reader.step == i) continue;
      if (transfer.changes() || reader.kind == Reader::Kind::kOther) return false;
      if (reader.kind == Reader::Kind::kTile && !plan_.steps[reader.step].tile->loads_only(transfer.from)) return false;
      read_later |= reader.step > i;
    }
    // There an operator of LibTorch's might change it.
    return !read_later ||
           std::none_of(readers_[transfer.to.buffer].begin(), readers_[transfer.to.buffer].end(),
                        [&](const Reader& reader) { return plan_.steps[reader.step].kind == StepKind::kCall; });
  }

  // The buffer is there, or will be, when step `maker` writes it instead of step `i`.
  bool is_there(BufferId buffer, int32_t maker, int32_t i) const {
    return std::all_of(writers_[buffer].begin(), writers_[buffer].end(), [&](int32_t step) {
      const SignatureStep::Kind kind = plan_.steps[step].kind;
      return step == i || step < maker || kind == StepKind::kKernel || kind == StepKind::kTile;
    });
  }

  // Step `maker` finds in the buffer what step `i` would.
  bool can_be_added(BufferId buffer, int32_t maker, int32_t i) const {
    const auto& writers = writers_[buffer];
    return std::all_of(writers.begin(), writers.end(), [&](int32_t step) { return step < maker; }) &&
           std::none_of(plan_.steps.begin() + maker, plan_.steps.begin() + i,
                        [](const SignatureStep& step) { return step.kind == StepKind::kCall && step.barrier; });
  }

  // It is step `maker` that reads it now.
  void note_addend(BufferId buffer, int32_t maker, int32_t i) {
    std::vector<Reader>& readers = readers_[buffer];
    std::erase_if(readers, [&](const Reader& reader) { return reader.step == i; });
    readers.push_back({Reader::Kind::kOther, maker});
  }

  // Step `maker` writes what the transfer reads to where the transfer puts it. Where that is, as the maker sees it.
  std::optional<TensorView> write(int32_t maker, const TileExpression::Transfer& transfer) {
    SignatureStep& step = plan_.steps[maker];
    const std::vector<TensorView> writes = step.tile ? step.tile->writes() : step.writes;
    size_t which = writes.size();
    for (size_t w = 0; w < writes.size(); ++w) {
      if (writes[w].buffer != transfer.from.buffer) continue;
      if (which < writes.size()) return std::nullopt;  // the buffer in parts
      which = w;
    }
    if (which == writes.size() || writes[which].offset != transfer.from.offset) return std::nullopt;
    const TensorView& made = writes[which];
    const auto place = as_made(transfer.to, made.meta, transfer);
    if (!place) return std::nullopt;
    const bool changed =
        step.tile ? change_tile(step, made, *place, transfer) : change_kernel(step, which, *place, transfer);
    return changed ? place : std::nullopt;
  }

  static bool change_tile(SignatureStep& step, const TensorView& made, const TensorView& place,
                          const TileExpression::Transfer& transfer) {
    if (transfer.changes()) return false;
    TileExpression changed = *step.tile;
    changed.store_elsewhere(made.buffer, place);
    if (!changed.compile()) return false;
    step.tile = std::move(changed);
    return true;
  }

  static bool change_kernel(SignatureStep& step, size_t which, const TensorView& place,
                            const TileExpression::Transfer& transfer) {
    std::shared_ptr<const void> specification = step.specification;
    const TensorMeta& made = step.writes[which].meta;
    const bool moves = !same_strides(made, place.meta);
    if ((moves || transfer.changes()) && !step.variants) return false;
    if (moves) specification = step.variants->placed(specification.get(), which, place.meta);
    std::optional<TensorView> addend;
    if (specification && transfer.addend) {
      addend = as_made(*transfer.addend, made, transfer);
      specification = addend ? step.variants->added(specification.get(), addend->meta) : nullptr;
    }
    if (specification && transfer.clamps())
      specification = step.variants->clamped(specification.get(), transfer.least, transfer.most);
    if (!specification) return false;
    step.specification = std::move(specification);
    step.writes[which] = place;
    if (addend) step.reads.push_back(std::move(*addend));
    return true;
  }

  // What the transfer sees over its iteration space, as the maker of what it hands on would.
  static std::optional<TensorView> as_made(const TensorView& seen, const TensorMeta& made,
                                           const TileExpression::Transfer& transfer) {
    const auto strides = restrided(made, transfer.from.meta, seen.meta.strides);
    if (!strides) return std::nullopt;
    return TensorView{seen.buffer, seen.offset, {made.dtype, made.sizes, *strides}};
  }

  void redirect_readers(const TileExpression::Transfer& transfer, int32_t i, const TensorView& place) {
    const BufferId from = transfer.from.buffer, to = transfer.to.buffer;
    bool left = false;
    for (const Reader& reader : readers_[from]) {
      if (reader.step == i) continue;
      if (reader.kind == Reader::Kind::kTile) {
        plan_.steps[reader.step].tile->load_elsewhere(transfer.from, transfer.to);
        readers_[to].push_back(reader);
      } else {
        left = true;
        readers_[to].push_back({Reader::Kind::kOther, reader.step});
      }
    }
    if (!left) return;
    plan_.buffers[from].kind = Buffer::Kind::kCopied;
    plan_.buffers[from].source = place;
  }

  SignaturePlan& plan_;
  std::vector<std::vector<Reader>> readers_;  // by buffer
  std::vector<std::vector<int32_t>> writers_;
};

}  // namespace

void absorb_copies(SignaturePlan& plan) { Absorber(plan).run(); }

}  // namespace stator
