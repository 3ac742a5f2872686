// Weights in the forms that kernels want them in: each made once in a module, whatever number of plans and threads use it.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace stator {

class PackedWeights {
 public:
  // The form `form` of a constant tensor; `make` makes it of `weight` at the first call. Any thread.
  at::Tensor get(const at::Tensor& weight, std::string_view form, const std::function<at::Tensor()>& make);
  int64_t bytes() const;

 private:
  struct Entry {
    at::Tensor weight;  // alive, so that nothing else comes to lie where it lies
    std::string form;
    at::Tensor packed;
  };
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace stator
