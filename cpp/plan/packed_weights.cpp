#include "plan/packed_weights.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>

#include "graph/error.h"
#include "memory/huge_pages.h"

namespace stator {

at::Tensor PackedWeights::get(const at::Tensor& weight, std::string_view form,
                              const std::function<at::Tensor()>& make) {
  std::lock_guard lock(mutex_);
  for (const SavedWeight& entry : entries_) {
    const bool same = entry.weight.const_data_ptr() == weight.const_data_ptr() &&
                      entry.weight.sizes() == weight.sizes() && entry.weight.strides() == weight.strides();
    if (same && entry.form == form) return entry.packed;
  }
  at::Tensor packed = make();
  charge_.set(charge_.bytes() + static_cast<int64_t>(packed.nbytes()), "repacked weights");
  entries_.push_back({weight, std::string(form), std::move(packed)});
  return entries_.back().packed;
}

void PackedWeights::add(at::Tensor weight, std::string form, at::Tensor packed) {
  std::lock_guard lock(mutex_);
  entries_.push_back({std::move(weight), std::move(form), std::move(packed)});
  from_file_ = entries_.size();
}

std::vector<SavedWeight> PackedWeights::all() const {
  std::lock_guard lock(mutex_);
  return entries_;
}

int64_t PackedWeights::bytes() const {
  std::lock_guard lock(mutex_);
  return charge_.bytes();
}

void PackedWeights::trim() {
  std::lock_guard lock(mutex_);
  int64_t bytes = charge_.bytes();
  const auto unused = [&](const SavedWeight& entry) {
    if (entry.packed.use_count() > 1) return false;
    bytes -= static_cast<int64_t>(entry.packed.nbytes());
    return true;
  };
  const auto made_here = entries_.begin() + static_cast<ptrdiff_t>(from_file_);
  entries_.erase(std::remove_if(made_here, entries_.end(), unused), entries_.end());
  charge_.set(bytes, "repacked weights");
}

at::Tensor empty_weights(at::IntArrayRef sizes) {
  const int64_t bytes = c10::multiply_integers(sizes) * static_cast<int64_t>(sizeof(float));
  if (bytes < kHugePage) return at::empty(sizes, at::kFloat);
  void* pages = map_huge_pages(bytes);
  if (!pages)
    throw Error(ErrorCode::kOutOfMemory, "no memory for " + std::to_string(bytes) + " bytes of repacked weights");
  return at::from_blob(pages, sizes, [bytes](void* mapped) { unmap_huge_pages(mapped, bytes); }, at::kFloat);
}

}  // namespace stator
