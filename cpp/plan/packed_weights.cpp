#include "plan/packed_weights.h"

namespace stator {

at::Tensor PackedWeights::get(const at::Tensor& weight, std::string_view form,
                              const std::function<at::Tensor()>& make) {
  std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_) {
    const bool same = entry.weight.const_data_ptr() == weight.const_data_ptr() &&
                      entry.weight.sizes() == weight.sizes() && entry.weight.strides() == weight.strides();
    if (same && entry.form == form) return entry.packed;
  }
  entries_.push_back({weight, std::string(form), make()});
  return entries_.back().packed;
}

int64_t PackedWeights::bytes() const {
  std::lock_guard lock(mutex_);
  int64_t bytes = 0;
  for (const Entry& entry : entries_) bytes += static_cast<int64_t>(entry.packed.nbytes());
  return bytes;
}

}  // namespace stator
