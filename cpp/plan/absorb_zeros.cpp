#include "plan/absorb_zeros.h"

#include <algorithm>

#include "plan/uses.h"

namespace stator {
namespace {

using StepKind = SignatureStep::Kind;

// A tensor within zeros.
struct Padded {
  TensorView inside;
  at::DimVector before;  // zeros, by dimension
  int32_t step;          // that copies it there
};

class ZeroAbsorber {
 public:
  explicit ZeroAbsorber(SignaturePlan& plan) : plan_(plan), writers_(plan.buffers.size()) {
    for (size_t i = 0; i < plan_.steps.size(); ++i)
      for_each_write(plan_.steps[i], [&](BufferId buffer) { writers_[buffer].push_back(static_cast<int32_t>(i)); });
  }

  void run() {
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      if (plan_.steps[i].kind == StepKind::kKernel && plan_.steps[i].variants) absorb(static_cast<int32_t>(i));
    }
  }

 private:
  void absorb(int32_t i) {
    SignatureStep& step = plan_.steps[i];
    if (step.reads.empty()) return;
    const auto padded = padded_of(step.reads[0]);
    if (!padded || padded->step > i || !stays_until(padded->inside.buffer, padded->step, i)) return;
    const auto specification =
        step.variants->around_zeros(step.specification.get(), padded->inside.meta, padded->before);
    if (!specification) return;
    step.specification = specification;
    step.reads[0] = padded->inside;
  }

  // If that is what the steps that write the buffer make of it: zeros, then the other tensor's elements beside them.
  std::optional<Padded> padded_of(const TensorView& view) const {
    if (view.offset != 0 || !view.meta.is_contiguous() || view.meta.dtype != at::kFloat) return std::nullopt;
    std::optional<Padded> found;
    int64_t written = 0;
    for (int32_t writer : writers_[view.buffer]) {
      const SignatureStep& step = plan_.steps[writer];
      if (step.kind != StepKind::kTile || step.tile->writes().size() != 1) return std::nullopt;
      written += step.tile->numel();
      if (step.tile->stores_zeros()) continue;
      const auto transfer = step.tile->as_transfer();
      if (found || writer != writers_[view.buffer].back() || !transfer || transfer->changes()) return std::nullopt;
      if (transfer->to.meta.strides != view.meta.strides) return std::nullopt;
      found = Padded{transfer->from, before(transfer->to, view.meta), writer};
    }
    return written == view.meta.numel() ? found : std::nullopt;
  }

  static at::DimVector before(const TensorView& part, const TensorMeta& whole) {
    at::DimVector out;
    int64_t rest = part.offset / whole.itemsize();
    for (int64_t stride : whole.strides) {
      out.push_back(rest / stride);
      rest %= stride;
    }
    return out;
  }

  // Nothing changes the buffer between the steps.
  bool stays_until(BufferId buffer, int32_t first, int32_t last) const {
    const auto& writers = writers_[buffer];
    return std::none_of(writers.begin(), writers.end(), [&](int32_t step) { return step > first && step < last; }) &&
           std::none_of(plan_.steps.begin() + first, plan_.steps.begin() + last,
                        [](const SignatureStep& step) { return step.kind == StepKind::kCall && step.barrier; });
  }

  SignaturePlan& plan_;
  std::vector<std::vector<int32_t>> writers_;  // by buffer
};

}  // namespace

void absorb_zeros(SignaturePlan& plan) { ZeroAbsorber(plan).run(); }

}  // namespace stator
