// The tables of kernels that this CPU can run.
#pragma once

#include <vector>

#include "kernels/dispatch.h"

namespace stator {

inline std::vector<const KernelTable*> usable_tables() {
  std::vector<const KernelTable*> tables{find_kernels("DEFAULT")};
#ifdef STATOR_HAVE_AVX2_KERNELS
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) tables.push_back(find_kernels("AVX2"));
#endif
#ifdef STATOR_HAVE_AVX512_KERNELS
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq")) {
    tables.push_back(find_kernels("AVX512"));
  }
#endif
  return tables;
}

}  // namespace stator
