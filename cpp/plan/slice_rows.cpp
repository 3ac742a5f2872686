#include "plan/slice_rows.h"

#include <algorithm>
#include <unordered_map>

#include "kernels/dispatch.h"
#include "kernels/slices.h"
#include "plan/uses.h"

namespace stator {
namespace {

using StepKind = SignatureStep::Kind;

// Bytes between steps that are worth taking turns: more than stay in the second level cache beside what is read, and more than the steps write for
// others, or there is nothing to win (softmax of a sum, 12 times 512x512, with as much written as between). Those of a slice stay there.
constexpr int64_t kLeastBetween = 1024 * 1024, kMostOfSlice = 64 * 1024, kLongestRow = 512 * 1024;
constexpr size_t kMostSteps = 16;

// So many times so many rows: as many as pointwise steps may have to take apart, because something is broadcast over the outer ones.
struct RowSpace {
  int64_t outer, inner;
  int64_t count() const { return outer * inner; }
};

// A tensor by rows: bytes from one to the next, and how many one takes up where it lies.
struct RowView {
  TensorView view;
  int64_t outer_step, row_step, extent;
};

// A step of a chain.
struct Link {
  const SignatureStep* step;
  std::vector<RowView> reads, writes;
};

// Bytes from a row's first element to the end of its last; dimensions from the third on are within a row.
int64_t extent_of(const TensorMeta& meta) {
  int64_t last = 0;
  for (size_t d = 2; d < meta.sizes.size(); ++d) last += (meta.sizes[d] - 1) * meta.strides[d];
  return (last + 1) * meta.itemsize();
}

std::vector<RowView> by_rows(std::vector<TensorView> views) {
  std::vector<RowView> out;
  for (TensorView& view : views) {
    const TensorMeta& meta = view.meta;
    const int64_t bytes = meta.itemsize(), outer = meta.strides[0] * bytes, row = meta.strides[1] * bytes;
    const int64_t extent = extent_of(meta);
    out.push_back({std::move(view), outer, row, extent});
  }
  return out;
}

std::vector<RowView> by_rows(const std::vector<TensorView>& views, const std::vector<int64_t>& steps, RowSpace rows) {
  std::vector<RowView> out;
  for (size_t i = 0; i < views.size(); ++i) {
    const bool whole = views[i].meta.is_contiguous() && views[i].meta.bytes() == steps[i] * rows.count();
    // Rows of others are not looked at: nobody relies on where they end.
    out.push_back({views[i], rows.inner * steps[i], steps[i], whole ? steps[i] : views[i].meta.bytes()});
  }
  return out;
}

std::optional<Link> link_of(const SignatureStep& step, RowSpace rows) {
  if (step.kind == StepKind::kKernel) {
    const KernelRows& made = *step.variants->rows();
    return Link{&step, by_rows(step.reads, made.read_steps, rows), by_rows(step.writes, made.write_steps, rows)};
  }
  const auto all = step.tile->some_rows(rows.outer, rows.inner, rows.inner);
  if (!all) return std::nullopt;
  return Link{&step, by_rows(all->reads()), by_rows(all->writes())};
}

class RowSlicer {
 public:
  explicit RowSlicer(SignaturePlan& plan) : plan_(plan), uses_(plan.buffers.size()) {
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const auto note = [&](BufferId buffer) { uses_[buffer].push_back(i); };
      for_each_read(plan_, plan_.steps[i], note);
      for_each_write(plan_.steps[i], note);
    }
  }

  void run() {
    std::vector<SignatureStep> steps;
    for (size_t i = 0; i < plan_.steps.size();) {
      size_t end = end_of_chain(i);
      std::optional<SignatureStep> sliced;
      for (; end > i + 1 && !(sliced = in_turns(i, end)); --end) {
      }
      steps.push_back(sliced ? std::move(*sliced) : std::move(plan_.steps[i]));
      i = sliced ? end : i + 1;
    }
    plan_.steps = std::move(steps);
  }

 private:
  static bool has_rows(const SignatureStep& step) {
    return step.kind == StepKind::kKernel && step.variants && step.variants->rows() && !step.can_fail;
  }
  static bool can_take_turns(const SignatureStep& step) { return step.kind == StepKind::kTile || has_rows(step); }

  size_t end_of_chain(size_t first) const {
    size_t end = first;
    while (end < plan_.steps.size() && end - first < kMostSteps && can_take_turns(plan_.steps[end])) ++end;
    return end;
  }

  // Of the kernels among the steps, which have as many each; 0: they do not, or there is none.
  int64_t rows_of(size_t first, size_t end) const {
    int64_t rows = 0;
    for (size_t i = first; i < end; ++i) {
      if (plan_.steps[i].kind == StepKind::kTile) continue;
      const int64_t count = plan_.steps[i].variants->rows()->count;
      if (rows != 0 && rows != count) return 0;
      rows = count;
    }
    return rows;
  }

  // How many rows may be taken together: all of them, or those of the last of the dimensions that hold rows.
  std::vector<RowSpace> spaces(size_t first, size_t end, int64_t rows) const {
    std::vector<RowSpace> out{{1, rows}};
    for (size_t i = first; i < end; ++i) {
      if (plan_.steps[i].kind != StepKind::kTile) continue;
      int64_t outer = 1;
      for (int64_t size : plan_.steps[i].tile->sizes()) {
        outer *= size;
        if (outer >= rows || rows % outer != 0) break;
        out.push_back({outer, rows / outer});
      }
    }
    return out;
  }

  std::optional<SignatureStep> in_turns(size_t first, size_t end) {
    const int64_t rows = rows_of(first, end);
    if (rows < 2) return std::nullopt;
    for (const RowSpace space : spaces(first, end, rows)) {
      std::vector<Link> chain;
      for (size_t i = first; i < end; ++i) {
        auto link = link_of(plan_.steps[i], space);
        if (!link) break;
        chain.push_back(std::move(*link));
      }
      if (chain.size() == end - first && go_row_by_row(chain, space)) return in_turns(chain, space, first, end);
    }
    return std::nullopt;
  }

  // Where the rows of a buffer lie one behind the other, and the view has some of each.
  bool is_by_rows(const RowView& rows, RowSpace space) const {
    const int64_t row = plan_.buffers[rows.view.buffer].bytes / space.count();
    return row * space.count() == plan_.buffers[rows.view.buffer].bytes && rows.view.offset == 0 &&
           rows.row_step == row && rows.extent <= row && (space.outer == 1 || rows.outer_step == space.inner * row);
  }

  // Each step reads something that those before it make, and of that the same rows only.
  bool go_row_by_row(const std::vector<Link>& chain, RowSpace space) const {
    std::unordered_map<BufferId, bool> seen;  // whether it is made here, by rows
    for (const Link& link : chain) {
      bool follows = &link == &chain.front();
      for (const RowView& read : link.reads) {
        const auto [found, added] = seen.emplace(read.view.buffer, false);
        if (added || (!found->second && !is_made(chain, read.view.buffer))) continue;
        if (!found->second || !is_by_rows(read, space)) return false;
        follows = true;
      }
      if (!follows) return false;
      for (const RowView& write : link.writes) {
        if (!seen.emplace(write.view.buffer, is_by_rows(write, space)).second) return false;
      }
    }
    return true;
  }

  static bool is_made(const std::vector<Link>& chain, BufferId buffer) {
    return std::any_of(chain.begin(), chain.end(), [&](const Link& link) {
      return std::any_of(link.writes.begin(), link.writes.end(),
                         [&](const RowView& write) { return write.view.buffer == buffer; });
    });
  }

  // Written and read by these steps alone.
  bool is_between(BufferId id, size_t first, size_t end) const {
    const Buffer& buffer = plan_.buffers[id];
    return buffer.kind == Buffer::Kind::kWorkspace && !buffer.pinned &&
           std::all_of(uses_[id].begin(), uses_[id].end(), [&](size_t step) { return step >= first && step < end; });
  }

  std::optional<SignatureStep> in_turns(const std::vector<Link>& chain, RowSpace space, size_t first, size_t end) {
    std::unordered_map<BufferId, int64_t> between;  // bytes of a row
    int64_t of_row = 0, for_others = 0;
    for (const Link& link : chain) {
      for (const RowView& write : link.writes) {
        const bool stays = is_between(write.view.buffer, first, end) && is_by_rows(write, space);
        if (stays) between[write.view.buffer] = write.row_step;
        (stays ? of_row : for_others) += stays ? write.row_step : write.extent;
      }
    }
    if (of_row * space.count() < kLeastBetween || of_row > kLongestRow || of_row <= for_others) return std::nullopt;
    SlicesSpec spec;
    spec.outer = space.outer;
    spec.rows = space.inner;
    spec.parts = parts_of(chain);
    const int64_t wanted = std::clamp<int64_t>(kMostOfSlice / of_row, 1, space.inner);
    spec.height = wanted;
    while (spec.parts > 1 && spec.rows % spec.height != 0) --spec.height;
    const bool is_cut_well = 4 * spec.height >= wanted && spec.outer * spec.slices_each() >= 2 * spec.parts;
    return is_cut_well ? Assembly{*this, between, std::move(spec)}.step(chain) : std::nullopt;
  }

  int64_t parts_of(const std::vector<Link>& chain) const {
    int64_t parts = 1;
    for (const Link& link : chain) {
      const SignatureStep& step = *link.step;
      parts = std::max(parts, step.tile ? step.tile->compile(plan_.signature.threads())->program.parts
                                        : step.variants->rows()->parts);
    }
    return parts;
  }

  // Puts the step together: its addresses are those that the kernels read, then those that they write.
  struct Assembly {
    RowSlicer& slicer;
    const std::unordered_map<BufferId, int64_t>& between;
    SlicesSpec spec;
    SignatureStep made{};
    std::unordered_map<BufferId, int32_t> rooms{};  // for a slice of it, among what is written

    std::optional<SignatureStep> step(const std::vector<Link>& chain) {
      for (const Link& link : chain) {
        if (!add(link)) return std::nullopt;
      }
      // What is written comes behind what is read.
      const auto reads = static_cast<int32_t>(made.reads.size());
      for (SlicesSpec::Call& call : spec.calls) {
        for (SlicesSpec::Operand& operand : call.operands) {
          if (operand.address < 0) operand.address = reads - 1 - operand.address;
        }
      }
      slicer.plan_.shares_work |= spec.parts > 1;
      made.kernel = run_slices;
      made.specification = std::make_shared<const SlicesSpec>(std::move(spec));
      return std::move(made);
    }

    bool add(const Link& link) {
      const SignatureStep& step = *link.step;
      SlicesSpec::Call call;
      std::vector<RowView> reads = link.reads, writes = link.writes;
      if (step.tile) {
        const auto tile = step.tile->some_rows(spec.outer, spec.rows, spec.height)->compile();
        if (!tile) return false;
        reads = by_rows(tile->read);
        writes = by_rows(tile->written);
        call.kernel = kernels().tile->run;
        call.specification = std::shared_ptr<const void>(tile, &tile->program);
      } else {
        call.kernel = step.kernel;
        call.specification = step.variants->some_rows(step.specification.get(), spec.height);
      }
      if (!call.specification || reads.size() + writes.size() > kMostSliceOperands) return false;
      for (const RowView& read : reads) call.operands.push_back(operand(read, false));
      for (const RowView& write : writes) call.operands.push_back(operand(write, true));
      spec.calls.push_back(std::move(call));
      note(step);
      return true;
    }

    // What is written counts down from -1, until it is known how much is read.
    SlicesSpec::Operand operand(const RowView& rows, bool is_written) {
      if (const auto found = between.find(rows.view.buffer); found != between.end())
        return {-1 - room_for(found->first, found->second), 0, found->second * spec.height, 0};
      std::vector<TensorView>& views = is_written ? made.writes : made.reads;
      views.push_back(rows.view);
      const auto place = static_cast<int32_t>(views.size()) - 1;
      return {is_written ? -1 - place : place, rows.row_step, 0, rows.outer_step};
    }

    int32_t room_for(BufferId buffer, int64_t row_bytes) {
      const auto [room, added] = rooms.emplace(buffer, static_cast<int32_t>(made.writes.size()));
      if (!added) return room->second;
      TensorMeta meta = TensorMeta::contiguous(at::kByte, {spec.parts, spec.height * row_bytes});
      Buffer scratch;
      scratch.bytes = meta.bytes();
      made.writes.push_back({static_cast<BufferId>(slicer.plan_.buffers.size()), 0, std::move(meta)});
      slicer.plan_.buffers.push_back(std::move(scratch));
      return room->second;
    }

    void note(const SignatureStep& step) {
      if (made.pc >= 0) made.joined.push_back(made.pc);
      made.joined.insert(made.joined.end(), step.joined.begin(), step.joined.end());
      made.pc = step.pc;
    }
  };

  SignaturePlan& plan_;
  std::vector<std::vector<size_t>> uses_;  // by buffer: steps that read or write it
};

}  // namespace

void slice_rows(SignaturePlan& plan) {
  int64_t between = 0;
  for (const Buffer& buffer : plan.buffers) between += buffer.kind == Buffer::Kind::kWorkspace ? buffer.bytes : 0;
  if (between >= kLeastBetween) RowSlicer(plan).run();
}

}  // namespace stator
