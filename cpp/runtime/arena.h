// Arena: the outputs of one run.
//
// Its contents are shared with whatever was exported from it: an export holds a Lease, and while one lives the arena cannot be filled or
// reset. An arena released while leased leaves its contents to the last lease.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <atomic>
#include <memory>
#include <vector>

#include "memory/block.h"
#include "ops/call.h"
#include "plan/signature_plan.h"
#include "runtime/module.h"

namespace stator {

struct ArenaContents {
  std::shared_ptr<StaticModule> module;  // owns the plan
  MemoryBlock block;
  MemoryCharge elsewhere;                  // results that lie outside the block
  const Plan* plan = nullptr;              // whose outputs `buffers` are laid out for
  int64_t version = -1;                    // of the plan's observed sizes, when they were
  std::vector<PlannedBuffer> buffers;      // one per tensor that the plan places in an arena
  std::vector<const PlannedBuffer*> lent;  // the caller's memory that outputs of this run were placed in
  c10::IValue result;
  std::vector<at::Tensor> outputs;  // the result's tensors, depth first
  int64_t result_of = 0;            // the number of the plan of only_kernels that made it; else 0
  std::atomic<int64_t> leases{0};
  std::atomic<int64_t> bytes{0};  // that results lie in, as the module's metrics count them

  explicit ArenaContents(std::shared_ptr<StaticModule> module);
  ArenaContents(const ArenaContents&) = delete;
  ArenaContents& operator=(const ArenaContents&) = delete;
  ~ArenaContents() { set_bytes(0); }
  void set_bytes(int64_t now);
};

// Keeps an arena's results alive and in place.
class Lease {
 public:
  Lease() = default;
  explicit Lease(std::shared_ptr<ArenaContents> contents);
  Lease(const Lease& other) : Lease(other.contents_) {}
  Lease(Lease&& other) noexcept = default;
  Lease& operator=(Lease other) noexcept {
    contents_.swap(other.contents_);
    return *this;
  }
  ~Lease();
  explicit operator bool() const { return contents_ != nullptr; }

 private:
  std::shared_ptr<ArenaContents> contents_;
};

class Arena {
 public:
  explicit Arena(std::shared_ptr<StaticModule> module);

  const std::shared_ptr<StaticModule>& module() const { return contents_->module; }
  int64_t generation() const { return generation_.load(std::memory_order_acquire); }
  int64_t bytes() const { return contents_->bytes.load(std::memory_order_relaxed); }
  bool filled() const { return state_.load(std::memory_order_acquire) == kFilled; }
  // Throw Error(kBusy) while a run is under way.
  const std::vector<at::Tensor>& outputs() const;
  const c10::IValue& result() const;
  Lease lease() const;
  void reset();
  // reset(), and the memory goes back to the system.
  void trim();

  // For a run: begin() empties the arena and places `plan`'s outputs; then exactly one of finish() and abandon().
  // begin() throws Error(kBusy) if the arena is running or leased, and then changes nothing.
  ArenaContents& begin(const Plan& plan);
  // The same before a run of `again`, a plan of only_kernels made of `plan`. Where it made what the arena holds, the result and `outputs`
  // stay: its tensor is the one that the run would make, and only its elements are to be written.
  ArenaContents& begin_again(const Plan& plan, const SignaturePlan& again);
  // finish() throws Error(kMemoryLimit) if the results are too much; the run is then to be abandoned.
  void finish();
  void abandon() noexcept;

 private:
  enum : int { kEmpty, kFilled, kRunning };
  void claim();
  void clear() noexcept;
  // Once it is claimed; abandons it if it throws.
  ArenaContents& empty_for(const Plan& plan);
  void place(const Plan& plan);
  bool placed_for(const Plan& plan) const;
  bool holds_result_of(const SignaturePlan& again) const;
  // By who has claimed it.
  void next_generation() {
    generation_.store(generation_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  std::shared_ptr<ArenaContents> contents_;
  std::atomic<int> state_{kEmpty};
  std::atomic<int64_t> generation_{0};
};

}  // namespace stator
