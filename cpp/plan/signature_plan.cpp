#include "plan/signature_plan.h"

#include <algorithm>
#include <atomic>
#include <numeric>

#include "kernels/dispatch.h"
#include "memory/greedy_by_size.h"
#include "memory/storage_groups.h"
#include "plan/absorb.h"
#include "plan/absorb_zeros.h"
#include "plan/copy_step.h"
#include "plan/expand_constants.h"
#include "plan/fuse.h"
#include "plan/restride.h"
#include "plan/saved_record.h"
#include "plan/slice_channels.h"
#include "plan/slice_rows.h"
#include "plan/tracer.h"
#include "plan/uses.h"

namespace stator {
namespace {

using StepKind = SignatureStep::Kind;

// Elements. Larger copies are tile programs, which threads share.
constexpr int64_t kMostCopiedByOne = 32768;

// A step that only copies; false if it does more, or has nothing to copy.
bool make_copy(SignatureStep& step) {
  const auto transfer = step.tile->as_transfer();
  if (!transfer || transfer->changes() || transfer->to.meta.numel() == 0) return false;
  const auto specification = copy_spec(transfer->from.meta, transfer->to.meta);
  if (!specification) return false;
  step.specification = std::make_shared<const CopySpec>(*specification);
  step.kernel = kernels().copies->copy;
  step.reads = {transfer->from};
  step.writes = {transfer->to};
  return true;
}

void make_tile_program(SignatureStep& step, SignaturePlan& plan) {
  auto specification = step.tile->compile(plan.signature.threads());
  plan.shares_work |= specification->program.parts > 1;
  step.kernel = kernels().tile->run;
  step.reads = specification->read;
  step.writes = specification->written;
  step.specification = std::move(specification);
}

void compile_tiles(SignaturePlan& plan) {
  for (SignatureStep& step : plan.steps) {
    step.variants.reset();
    if (step.kind != StepKind::kTile) continue;
    const bool shared = plan.signature.threads() > 1 && step.tile->numel() > kMostCopiedByOne;
    if (shared || !make_copy(step)) make_tile_program(step, plan);
    step.kind = StepKind::kKernel;
    step.tile.reset();
  }
}

// The last step that needs each holder lets go of it.
void drop_holders(SignaturePlan& plan) {
  std::vector<int32_t> last(plan.holder_count, -1);
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const auto use = [&](int32_t holder) { last[holder] = static_cast<int32_t>(i); };
    const SignatureStep& step = plan.steps[i];
    for_each_value(plan, step, [&](const TraceValue& value) {
      if (value.home.kind == Home::Kind::kHolder) use(value.home.index);
    });
    for_each_read(plan, step, [&](BufferId buffer) {
      if (plan.buffers[buffer].kind == Buffer::Kind::kHolder) use(plan.buffers[buffer].index);
    });
    for (const auto& result : step.results) use(result.holder);
    for_each_write(step, [&](BufferId buffer) {
      if (plan.buffers[buffer].kind == Buffer::Kind::kHolder) use(plan.buffers[buffer].index);
    });
  }
  for (int32_t holder = 0; holder < plan.holder_count; ++holder) {
    if (last[holder] >= 0) plan.steps[last[holder]].dropped_holders.push_back(holder);
  }
}

int64_t bytes_in_groups(const std::vector<BufferSpec>& specs) {
  std::vector<Lifetime> lifetimes;
  std::vector<int64_t> bytes;
  for (const BufferSpec& spec : specs) {
    lifetimes.push_back(spec.lifetime);
    bytes.push_back(spec.bytes);
  }
  return layout_groups(assign_storage_groups(lifetimes), bytes).bytes;
}

bool is_whole(const SignaturePlan& plan, const TensorView& view) {
  return view.offset == 0 && view.meta.bytes() == plan.buffers[view.buffer].bytes;
}

bool lie_alike(const TensorMeta& a, const TensorMeta& b) {
  return a.dtype == b.dtype && a.sizes == b.sizes && same_strides(a, b);
}

// The buffer whose elements a pointwise step reads last, each where it writes one of its only result; -1: there is none.
BufferId replaced_by(const SignaturePlan& plan, int32_t i, const std::vector<Lifetime>& lifetimes) {
  const SignatureStep& step = plan.steps[i];
  if (step.kind != StepKind::kKernel || step.kernel != kernels().tile->run || step.writes.size() != 1) return -1;
  const TensorView& to = step.writes[0];
  const auto is_free = [&](BufferId buffer) {
    return plan.buffers[buffer].kind == Buffer::Kind::kWorkspace && !plan.buffers[buffer].pinned;
  };
  if (!is_free(to.buffer) || lifetimes[to.buffer].first != i || !is_whole(plan, to)) return -1;
  for (const TensorView& from : step.reads) {
    if (!is_free(from.buffer) || lifetimes[from.buffer].last != i || !is_whole(plan, from)) continue;
    const bool same_places = std::all_of(step.reads.begin(), step.reads.end(), [&](const TensorView& other) {
      return other.buffer != from.buffer || lie_alike(other.meta, to.meta);
    });
    if (same_places) return from.buffer;
  }
  return -1;
}

void place_buffers(SignaturePlan& plan) {
  const auto end = static_cast<int32_t>(plan.steps.size());
  std::vector<Lifetime> lifetimes(plan.buffers.size(), {end + 1, -1});
  for (int32_t i = 0; i < end; ++i) {
    const auto use = [&](BufferId buffer) {
      lifetimes[buffer].first = std::min(lifetimes[buffer].first, i);
      lifetimes[buffer].last = std::max(lifetimes[buffer].last, i);
      // Where a tensor in a holder was to be made.
      if (const BufferId place = plan.buffers[buffer].place; place >= 0)
        lifetimes[place].last = std::max(lifetimes[place].last, i);
    };
    for_each_read(plan, plan.steps[i], use);
    for_each_write(plan.steps[i], use);
  }
  // What takes another's place lives in it from there on.
  std::vector<BufferId> home(plan.buffers.size());
  std::iota(home.begin(), home.end(), 0);
  for (int32_t i = 0; i < end; ++i) {
    const BufferId replaced = replaced_by(plan, i, lifetimes);
    if (replaced < 0) continue;
    const BufferId to = plan.steps[i].writes[0].buffer;
    home[to] = home[replaced];
    lifetimes[home[to]].last = lifetimes[to].last;
  }
  std::vector<BufferId> placed;
  std::vector<BufferSpec> specs;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& buffer = plan.buffers[i];
    if (buffer.kind != Buffer::Kind::kWorkspace || lifetimes[i].last < 0 || home[i] != static_cast<BufferId>(i))
      continue;
    if (buffer.pinned) lifetimes[i].last = end;
    placed.push_back(static_cast<BufferId>(i));
    specs.push_back({buffer.bytes, lifetimes[i]});
  }
  const ArenaLayout layout = greedy_by_size(specs);
  for (size_t i = 0; i < placed.size(); ++i) plan.buffers[placed[i]].offset = layout.offsets[i];
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    if (home[i] != static_cast<BufferId>(i)) plan.buffers[i].offset = plan.buffers[home[i]].offset;
  }
  plan.workspace_bytes = layout.bytes;
  plan.live_bytes = largest_live_set(specs);
  plan.group_bytes = bytes_in_groups(specs);
}

bool has_only_kernels(const SignaturePlan& plan) {
  if (plan.steps.empty() || plan.dynamic->outputs.size() != 1) return false;
  const SignatureStep& last = plan.steps.back();
  const bool puts_result = last.kind == StepKind::kPut && last.slot == plan.dynamic->outputs[0] && last.from < 0 &&
                           last.value->kind == TraceValue::Kind::kTensor && last.value->whole &&
                           plan.buffers[last.value->view.buffer].kind == Buffer::Kind::kArena;
  return puts_result && std::all_of(plan.steps.begin(), plan.steps.end() - 1,
                                    [](const SignatureStep& step) { return step.kind == StepKind::kKernel; });
}

// Results in the arena go where the dynamic plan's layout has room for them.
void make_room(const SignaturePlan& plan) {
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.kind != Buffer::Kind::kArena) continue;
    PlannedBuffer planned;
    planned.observed = &plan.dynamic->observed[buffer.index];
    planned.version = &plan.dynamic->observed_version;
    observe_size(planned, buffer.bytes);
  }
}

}  // namespace

std::shared_ptr<SignaturePlan> make_signature_plan(const Plan& dynamic, InputSignature signature,
                                                   const Recording& recording, PackedWeights& packed) {
  static std::atomic<int64_t> plans_made{0};
  auto plan = Tracer(dynamic, std::move(signature), recording, packed).trace();
  plan->number = ++plans_made;
  drop_unread(*plan);
  absorb_zeros(*plan);
  absorb_copies(*plan);
  fuse_tiles(*plan);
  absorb_copies(*plan);
  drop_unread(*plan);
  slice_channels(*plan);
  expand_constants(*plan);
  slice_rows(*plan);
  compile_tiles(*plan);
  drop_holders(*plan);
  place_buffers(*plan);
  plan->only_kernels = has_only_kernels(*plan);
  make_room(*plan);
  plan->record = write_record(dynamic, plan->signature, recording);
  return plan;
}

}  // namespace stator
