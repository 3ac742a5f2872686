#include "plan/packed_weights.h"

#include <ATen/ops/empty_strided.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <stdexcept>

#include "graph/error.h"

namespace stator {
namespace {

// A module's first weights lie in small pages, of which so few cost little, and small ones always do: a huge page is taken whole.
constexpr int64_t kInSmallPages = kHugePage;
constexpr int64_t kSmallWeight = int64_t{64} << 10;

}  // namespace

at::Tensor PackedWeights::get(const at::Tensor& weight, std::string_view form, const TensorMeta& meta,
                              const std::function<void(at::Tensor&)>& fill) {
  std::lock_guard lock(mutex_);
  for (const SavedWeight& entry : entries_) {
    const bool same = entry.weight.const_data_ptr() == weight.const_data_ptr() &&
                      entry.weight.sizes() == weight.sizes() && entry.weight.strides() == weight.strides();
    if (!same || entry.form != form) continue;
    // It may have come from a file.
    if (TensorMeta::of(entry.packed) != meta) throw std::length_error("a packed weight of another size");
    return entry.packed;
  }
  at::Tensor packed = room_for(meta);
  fill(packed);
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

at::Tensor PackedWeights::room_for(const TensorMeta& meta) {
  const int64_t bytes = meta.bytes();
  if (bytes < kSmallWeight || charge_.bytes() < kInSmallPages)
    return at::empty_strided(meta.sizes, meta.strides, at::TensorOptions(meta.dtype));
  void* piece = pages_.take(bytes);
  if (!piece)
    throw Error(ErrorCode::kOutOfMemory, "no memory for " + std::to_string(bytes) + " bytes of repacked weights");
  return at::from_blob(
      piece, meta.sizes, meta.strides, [bytes](void* taken) { HugePages::give_back(taken, bytes); }, meta.dtype);
}

}  // namespace stator
