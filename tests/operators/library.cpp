// A library of operators as users write them for LibTorch; Stator's tests load it by path.
#include <torch/library.h>

#include <ATen/ATen.h>

namespace {

at::Tensor outer(const at::Tensor& x, const at::Tensor& y, int64_t power) { return at::outer(x, y).pow(power); }

// Its schema is inferred and does not say that it writes its argument and returns it.
at::Tensor bump(at::Tensor x) { return x.add_(1); }

}  // namespace

TORCH_LIBRARY(stator_library, m) {
  m.def("outer(Tensor x, Tensor y, int power=1) -> Tensor");
  m.def("bump", bump);
}

TORCH_LIBRARY_IMPL(stator_library, CPU, m) { m.impl("outer", outer); }
