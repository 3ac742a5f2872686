#include "runtime/arena.h"

#include "graph/error.h"

namespace stator {

ArenaContents::ArenaContents(std::shared_ptr<StaticModule> owner)
    : module(std::move(owner)), block(module->budget()), elsewhere(module->budget()) {}

// By the arena's caller alone, so there is no other writer.
void ArenaContents::set_bytes(int64_t now) {
  const int64_t before = bytes.load(std::memory_order_relaxed);
  if (now == before) return;
  module->add_arena_bytes(now - before);
  bytes.store(now, std::memory_order_relaxed);
}

Lease::Lease(std::shared_ptr<ArenaContents> contents) : contents_(std::move(contents)) {
  if (contents_) contents_->leases.fetch_add(1, std::memory_order_relaxed);
}

Lease::~Lease() {
  // Release: the arena's next run must not overwrite what the holder was still reading.
  if (contents_) contents_->leases.fetch_sub(1, std::memory_order_release);
}

Arena::Arena(std::shared_ptr<StaticModule> module) : contents_(std::make_shared<ArenaContents>(std::move(module))) {}

const std::vector<at::Tensor>& Arena::outputs() const {
  static const std::vector<at::Tensor> none;
  const int state = state_.load(std::memory_order_acquire);
  if (state == kRunning) throw Error(ErrorCode::kBusy, "a run into the arena is under way");
  // An empty arena is not looked into: a run in another thread may be about to fill it.
  return state == kFilled ? contents_->outputs : none;
}

const c10::IValue& Arena::result() const {
  if (state_.load(std::memory_order_acquire) == kRunning)
    throw Error(ErrorCode::kBusy, "a run into the arena is under way");
  if (!filled())
    throw Error(ErrorCode::kInvalidArgument, "the arena is empty: no run has filled it since it was made or reset");
  return contents_->result;
}

Lease Arena::lease() const { return Lease(contents_); }

void Arena::claim() {
  int seen = state_.load(std::memory_order_relaxed);
  do {
    if (seen == kRunning) throw Error(ErrorCode::kBusy, "a run into the arena is under way");
  } while (!state_.compare_exchange_weak(seen, kRunning, std::memory_order_acquire, std::memory_order_relaxed));
  if (contents_->leases.load(std::memory_order_acquire) != 0) {
    state_.store(seen, std::memory_order_release);
    throw Error(ErrorCode::kBusy, "results of the arena are still exported: release them first, or use another arena");
  }
}

void Arena::clear() noexcept {
  contents_->result = c10::IValue();
  contents_->outputs.clear();
  contents_->lent.clear();
  contents_->elsewhere.set(0, "");
  contents_->set_bytes(contents_->block.bytes());
  contents_->result_of = 0;
  next_generation();
}

void Arena::reset() {
  claim();
  clear();
  state_.store(kEmpty, std::memory_order_release);
}

void Arena::trim() {
  claim();
  clear();
  contents_->plan = nullptr;
  contents_->buffers.clear();
  contents_->block.release();
  contents_->set_bytes(0);
  state_.store(kEmpty, std::memory_order_release);
}

bool Arena::placed_for(const Plan& plan) const {
  return contents_->plan == &plan && contents_->version == plan.observed_version.load(std::memory_order_acquire);
}

void Arena::place(const Plan& plan) {
  if (placed_for(plan)) return;
  ArenaContents& contents = *contents_;
  const int64_t version = plan.observed_version.load(std::memory_order_acquire);
  std::vector<int64_t> capacities;
  ArenaLayout layout = plan.layout(Place::kArena, &capacities);
  if (contents.plan != &plan) {
    contents.buffers.clear();
    contents.buffers.resize(layout.offsets.size());
  }
  contents.plan = nullptr;
  contents.block.reserve(layout.bytes, "results");
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    const PlannedTensor& tensor = plan.tensors[i];
    if (tensor.place != Place::kArena) continue;
    PlannedBuffer& buffer = contents.buffers[tensor.index];
    void* data = contents.block.data() + layout.offsets[tensor.index];
    if (buffer.data != data) buffer.tensor = at::Tensor();
    buffer.data = data;
    buffer.capacity = capacities[tensor.index];
    buffer.observed = &plan.observed[i];
    buffer.version = &plan.observed_version;
  }
  contents.plan = &plan;
  contents.version = version;
}

ArenaContents& Arena::begin(const Plan& plan) {
  claim();
  return empty_for(plan);
}

ArenaContents& Arena::empty_for(const Plan& plan) {
  try {
    clear();
    place(plan);
  } catch (...) {
    abandon();
    throw;
  }
  return *contents_;
}

// As the plan left it: nobody else holds the tensor, and who held it has given it no other shape or memory.
bool Arena::holds_result_of(const SignaturePlan& again) const {
  if (contents_->result_of != again.number) return false;
  constexpr size_t kOwnHolders = 3;  // its buffer, `result` and `outputs`
  const at::Tensor& tensor = contents_->outputs.front();
  return tensor.use_count() == kOwnHolders && again.result_meta().matches(tensor) && tensor.storage_offset() == 0 &&
         tensor.storage().use_count() == 1 && contents_->block.holds(tensor.storage().data());
}

ArenaContents& Arena::begin_again(const Plan& plan, const SignaturePlan& again) {
  claim();
  if (!placed_for(plan) || !holds_result_of(again)) return empty_for(plan);
  next_generation();
  return *contents_;
}

void Arena::finish() {
  const MemoryBlock& block = contents_->block;
  int64_t elsewhere = 0;
  for (const at::Tensor& tensor : contents_->outputs) {
    if (!block.holds(tensor.storage().data())) elsewhere += static_cast<int64_t>(tensor.storage().nbytes());
  }
  contents_->elsewhere.set(elsewhere, "results");
  contents_->set_bytes(block.bytes() + elsewhere);
  state_.store(kFilled, std::memory_order_release);
}

void Arena::abandon() noexcept {
  contents_->result = c10::IValue();
  contents_->outputs.clear();
  contents_->result_of = 0;
  state_.store(kEmpty, std::memory_order_release);
}

}  // namespace stator
