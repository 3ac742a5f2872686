// Weights in the forms that kernels want them in: each made once in a module, whatever number of plans and threads use it.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "graph/saved_plans.h"
#include "memory/budget.h"
#include "memory/huge_pages.h"
#include "plan/tensor_meta.h"

namespace stator {

class PackedWeights {
 public:
  // Their bytes count against `budget`, if there is one.
  explicit PackedWeights(std::shared_ptr<MemoryBudget> budget = nullptr) : charge_(std::move(budget)) {}

  // The form `form` of a constant tensor, which looks like `meta`; `fill` writes it at the first call. Any thread. Throws Error(kMemoryLimit) and
  // Error(kOutOfMemory).
  at::Tensor get(const at::Tensor& weight, std::string_view form, const TensorMeta& meta,
                 const std::function<void(at::Tensor&)>& fill);
  // A form that was made before and lies in a mapped file. Before the first get().
  void add(at::Tensor weight, std::string form, at::Tensor packed);
  std::vector<SavedWeight> all() const;
  int64_t bytes() const;
  // Gives back what no plan has.
  void trim();

 private:
  at::Tensor room_for(const TensorMeta& meta);

  mutable std::mutex mutex_;
  HugePages pages_;
  MemoryCharge charge_;
  std::vector<SavedWeight> entries_;  // weights are alive, so that nothing else comes to lie where they lie
  size_t from_file_ = 0;              // so many of them, the first: a mapped file's, not counted
};

}  // namespace stator
