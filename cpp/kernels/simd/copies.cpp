// Copies of any strides. Compiled once per CPU capability.
#include "kernels/copies.h"

#include "kernels/simd/copying.h"

namespace stator::CPU_CAPABILITY {

extern const CopyKernels copy_kernels;

namespace {

template <class Copy>
void copy_innermost(int64_t count, const char* from, int64_t from_step, char* to, int64_t to_step, const Copy& copy) {
  for (int64_t i = 0; i < count; ++i, from += from_step, to += to_step) copy(to, from);
}

template <class Copy>
bool copy_runs(const CopySpec& spec, const char* from, char* to, const Copy& copy) {
  const int inner = spec.dims - 1;
  int64_t index[kMostCopyDims] = {};
  while (true) {
    copy_innermost(spec.sizes[inner], from, spec.from[inner], to, spec.to[inner], copy);
    int d = inner - 1;
    for (; d >= 0; --d) {
      from += spec.from[d];
      to += spec.to[d];
      if (++index[d] < spec.sizes[d]) break;
      from -= spec.sizes[d] * spec.from[d];
      to -= spec.sizes[d] * spec.to[d];
      index[d] = 0;
    }
    if (d < 0) return true;
  }
}

bool copy(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const CopySpec*>(specification);
  return with_copy(spec.bytes, [&](const auto& one) {
    return copy_runs(spec, static_cast<const char*>(addresses[0]), static_cast<char*>(addresses[1]), one);
  });
}

}  // namespace

const CopyKernels copy_kernels{copy};

}  // namespace stator::CPU_CAPABILITY
