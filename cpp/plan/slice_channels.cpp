#include "plan/slice_channels.h"

#include <algorithm>

#include "kernels/dispatch.h"
#include "kernels/slices.h"
#include "plan/bottleneck.h"
#include "plan/uses.h"

namespace stator {
namespace {

using StepKind = SignatureStep::Kind;

// Bytes. What is between two kernels and is no larger stays in the second level cache of most processors; of slices half must.
constexpr int64_t kStays = 1024 * 1024, kMostOfChannels = kStays / 2;
// What the first kernel reads it reads for each slice anew.
constexpr int64_t kMostReadOfChannels = 2 * kMostOfChannels;

class Slicer {
 public:
  explicit Slicer(SignaturePlan& plan) : plan_(plan), readers_(plan.buffers.size(), 0) {
    for (const SignatureStep& step : plan_.steps)
      for_each_read(plan_, step, [&](BufferId buffer) { ++readers_[buffer]; });
  }

  void run() {
    for (size_t i = 0; i + 1 < plan_.steps.size(); ++i) {
      if (!goes_between(i)) continue;
      const SignatureStep &first = plan_.steps[i], &second = plan_.steps[i + 1];
      auto step = joined(first, second);
      if (!step && is_large(first)) step = sliced(first, second);
      if (step) {
        plan_.steps[i] = std::move(*step);
        plan_.steps.erase(plan_.steps.begin() + static_cast<ptrdiff_t>(i) + 1);
      }
    }
  }

 private:
  static bool can_be_sliced(const SignatureStep& step) {
    return step.kind == StepKind::kKernel && step.variants && !step.can_fail && !step.reads.empty();
  }

  // What step i makes is nothing but the input of the step behind it.
  bool goes_between(size_t i) const {
    const SignatureStep &first = plan_.steps[i], &second = plan_.steps[i + 1];
    if (!can_be_sliced(first) || !can_be_sliced(second)) return false;
    const TensorView& made = first.writes[0];
    const Buffer& buffer = plan_.buffers[made.buffer];
    return buffer.kind == Buffer::Kind::kWorkspace && !buffer.pinned && made.meta.bytes() == buffer.bytes &&
           made.meta.is_contiguous() && second.reads[0].buffer == made.buffer && second.reads[0].meta.is_contiguous() &&
           readers_[made.buffer] == 1;
  }
  static bool is_large(const SignatureStep& first) {
    return first.writes[0].meta.bytes() > kStays && first.reads[0].meta.bytes() <= kMostReadOfChannels;
  }

  std::optional<SignatureStep> joined(const SignatureStep& first, const SignatureStep& second) {
    auto spec = bottleneck_of(first, second);
    if (!spec) return std::nullopt;
    SignatureStep step = with_reads_of_both(first, second);
    step.writes = {second.writes[0], room_for(spec->part_floats * static_cast<int64_t>(sizeof(float)), spec->parts)};
    step.kernel = kernels().bottleneck->convolve;
    step.specification = std::make_shared<const BottleneckSpec>(*spec);
    return step;
  }

  std::optional<SignatureStep> sliced(const SignatureStep& first, const SignatureStep& second) {
    const int64_t bytes = first.writes[0].meta.bytes();
    for (int64_t count = (bytes + kMostOfChannels - 1) / kMostOfChannels; bytes / count >= kMostOfChannels / 8;
         ++count) {
      const auto maker = first.variants->slice(first.specification.get(), count);
      const auto reader = second.variants->slice(second.specification.get(), count);
      if (maker && reader && maker->write_step * count == bytes && reader->read_steps[0] * count == bytes)
        return in_turns(first, *maker, second, *reader, count);
    }
    return std::nullopt;
  }

  // Addresses: what the first reads, what else the second reads, its result, the slices between them, what is prepared for the first.
  SignatureStep in_turns(const SignatureStep& first, const KernelSlice& maker, const SignatureStep& second,
                         const KernelSlice& reader, int64_t count) {
    SignatureStep step = with_reads_of_both(first, second);
    const int64_t parts = std::min(maker.parts, count);
    step.writes = {second.writes[0], room_for(maker.write_step, parts)};
    const auto result = static_cast<int32_t>(step.reads.size());
    const SlicesSpec::Operand between{result + 1, 0, maker.write_step};

    SlicesSpec spec;
    spec.rows = count;
    spec.parts = parts;
    SlicesSpec::Call make{first.kernel, maker.specification, {}}, read{second.kernel, reader.specification, {between}};
    int32_t address = 0;
    for (int64_t read_step : maker.read_steps) make.operands.push_back({address++, read_step});
    make.operands.push_back(between);
    for (size_t i = 1; i < reader.read_steps.size(); ++i) read.operands.push_back({address++, reader.read_steps[i]});
    read.operands.push_back({result, reader.write_step});
    if (const auto& preparation = maker.preparation) {
      const SlicesSpec::Operand prepared{result + 2, 0, preparation->bytes};
      step.writes.push_back(room_for(preparation->bytes, parts));
      spec.calls.push_back({preparation->kernel, preparation->specification, {make.operands[0], prepared}, true});
      make.operands[0] = prepared;
    }
    spec.calls.push_back(std::move(make));
    spec.calls.push_back(std::move(read));

    step.kernel = run_slices;
    step.specification = std::make_shared<const SlicesSpec>(std::move(spec));
    return step;
  }

  // What both do. It reads what the first one does, and what else the second one does.
  static SignatureStep with_reads_of_both(const SignatureStep& first, const SignatureStep& second) {
    SignatureStep step = second;
    step.joined.insert(step.joined.begin(), first.pc);
    step.joined.insert(step.joined.begin(), first.joined.begin(), first.joined.end());
    step.reads = first.reads;
    step.reads.insert(step.reads.end(), second.reads.begin() + 1, second.reads.end());
    step.variants.reset();
    return step;
  }

  TensorView room_for(int64_t bytes, int64_t parts) {
    TensorMeta meta = TensorMeta::contiguous(at::kByte, {parts, bytes});
    Buffer buffer;
    buffer.bytes = meta.bytes();
    plan_.buffers.push_back(std::move(buffer));
    return {static_cast<BufferId>(plan_.buffers.size()) - 1, 0, std::move(meta)};
  }

  SignaturePlan& plan_;
  std::vector<int32_t> readers_;  // by buffer: how many
};

}  // namespace

void slice_channels(SignaturePlan& plan) { Slicer(plan).run(); }

}  // namespace stator
