#include "plan/expand_constants.h"

#include <ATen/ops/from_blob.h>

#include <algorithm>

namespace stator {
namespace {

// What a plan may take for it, and one constant: more is as well put together in the first level cache.
constexpr int64_t kMostBytes = 64 * 1024, kMostOfOne = 8 * 1024;

// Some, and not all, of its elements are several of the iteration space.
bool is_broadcast_in_part(const TensorMeta& meta) {
  bool repeats = false, differs = false;
  for (size_t d = 0; d < meta.sizes.size(); ++d) {
    if (meta.strides[d] < 0) return false;
    if (meta.sizes[d] != 1) (meta.strides[d] == 0 ? repeats : differs) = true;
  }
  return repeats && differs;
}

TensorView expanded(SignaturePlan& plan, const TensorView& view) {
  void* address = static_cast<char*>(plan.buffers[view.buffer].address) + view.offset;
  at::Tensor whole = at::from_blob(address, view.meta.sizes, view.meta.strides, view.meta.dtype).contiguous();
  plan.buffers.push_back({.kind = Buffer::Kind::kConstant,
                          .bytes = static_cast<int64_t>(whole.nbytes()),
                          .address = whole.mutable_data_ptr()});
  plan.constants.push_back(whole);
  return {static_cast<BufferId>(plan.buffers.size() - 1), 0, TensorMeta::of(whole)};
}

}  // namespace

void expand_constants(SignaturePlan& plan) {
  int64_t bytes = 0;
  for (SignatureStep& step : plan.steps) {
    if (!step.tile) continue;
    for (const TensorView& view : step.tile->reads()) {
      const int64_t size = view.meta.numel() * view.meta.itemsize();
      if (plan.buffers[view.buffer].kind != Buffer::Kind::kConstant || !is_broadcast_in_part(view.meta) ||
          size > kMostOfOne || bytes + size > kMostBytes)
        continue;
      bytes += size;
      step.tile->load_elsewhere(view, expanded(plan, view));
    }
  }
}

}  // namespace stator
