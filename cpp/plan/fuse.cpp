#include "plan/fuse.h"

#include <algorithm>

#include "plan/uses.h"

namespace stator {
namespace {

using StepKind = SignatureStep::Kind;

// Joins look back this far: plans are long, and what is far apart is no longer in the cache anyhow.
constexpr size_t kWindow = 64;

std::vector<BufferId> read_by(const SignaturePlan& plan, const SignatureStep& step) {
  std::vector<BufferId> out;
  for_each_read(plan, step, [&](BufferId buffer) { out.push_back(buffer); });
  return out;
}

std::vector<BufferId> written_by(const SignatureStep& step) {
  std::vector<BufferId> out;
  for_each_write(step, [&](BufferId buffer) { out.push_back(buffer); });
  return out;
}

bool meet(const std::vector<BufferId>& a, const std::vector<BufferId>& b) {
  return std::any_of(a.begin(), a.end(), [&](BufferId id) { return std::find(b.begin(), b.end(), id) != b.end(); });
}

class Fuser {
 public:
  explicit Fuser(SignaturePlan& plan) : plan_(plan) {}

  void run() {
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      // What was joined may be joined again, from where it stands now.
      while (plan_.steps[i].kind == StepKind::kTile && join_with_earlier(i)) {
        if (i > 0) --i;
      }
    }
  }

 private:
  bool join_with_earlier(size_t later) {
    const std::vector<BufferId> reads = read_by(plan_, plan_.steps[later]);
    const size_t first = later > kWindow ? later - kWindow : 0;
    for (size_t earlier = later; earlier-- > first;) {
      const SignatureStep& step = plan_.steps[earlier];
      if (step.kind == StepKind::kCall && step.barrier) return false;
      if (step.kind != StepKind::kTile || !meet(written_by(step), reads)) continue;
      if (step.tile->sizes() == plan_.steps[later].tile->sizes() && join(earlier, later)) return true;
    }
    return false;
  }

  bool join(size_t earlier, size_t later) {
    const bool down = can_move_down(earlier, later);
    if (!down && !can_move_up(earlier, later)) return false;
    TileExpression joined = *plan_.steps[earlier].tile;
    if (!joined.join(*plan_.steps[later].tile) || !joined.compile()) return false;
    SignatureStep& kept = plan_.steps[down ? later : earlier];
    SignatureStep& gone = plan_.steps[down ? earlier : later];
    kept.tile = std::move(joined);
    kept.joined.insert(kept.joined.end(), gone.joined.begin(), gone.joined.end());
    kept.joined.push_back(plan_.steps[earlier].pc);
    kept.pc = plan_.steps[later].pc;
    plan_.steps.erase(plan_.steps.begin() + static_cast<ptrdiff_t>(down ? earlier : later));
    return true;
  }

  // Nothing between reads what the step writes, or writes what it reads.
  bool can_move_down(size_t step, size_t to) const {
    const auto reads = read_by(plan_, plan_.steps[step]), writes = written_by(plan_.steps[step]);
    for (size_t i = step + 1; i < to; ++i) {
      if (meet(read_by(plan_, plan_.steps[i]), writes) || meet(written_by(plan_.steps[i]), reads)) return false;
    }
    return true;
  }

  // The same; and what it writes into has not yet been made.
  bool can_move_up(size_t to, size_t step) const {
    const auto reads = read_by(plan_, plan_.steps[step]), writes = written_by(plan_.steps[step]);
    for (size_t i = to + 1; i < step; ++i) {
      const auto written = written_by(plan_.steps[i]);
      if (meet(written, reads) || meet(written, writes)) return false;
    }
    return true;
  }

  SignaturePlan& plan_;
};

}  // namespace

void fuse_tiles(SignaturePlan& plan) { Fuser(plan).run(); }

void drop_unread(SignaturePlan& plan) {
  std::vector<bool> read(plan.buffers.size());
  std::vector<SignatureStep> kept;
  for (size_t i = plan.steps.size(); i-- > 0;) {
    SignatureStep& step = plan.steps[i];
    const auto is_read = [&](const TensorView& view) { return read[view.buffer]; };
    if (step.tile) step.tile->keep_stores(is_read);
    const bool no_use = (step.tile && step.tile->stores_nothing()) ||
                        (step.kind == StepKind::kKernel && !step.can_fail &&
                         std::none_of(step.writes.begin(), step.writes.end(), is_read)) ||
                        (step.kind == StepKind::kMake && !read[step.results[0].buffer]);
    if (no_use) continue;
    for_each_read(plan, step, [&](BufferId buffer) { read[buffer] = true; });
    kept.push_back(std::move(step));
  }
  std::reverse(kept.begin(), kept.end());
  plan.steps = std::move(kept);
}

}  // namespace stator
