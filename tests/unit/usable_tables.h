// The tables of kernels that this CPU can run, up to the one that plans are made for: their scratch is as large as that one wants it.
#pragma once

#include <algorithm>
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
  tables.erase(std::find(tables.begin(), tables.end(), &kernels()) + 1, tables.end());
  return tables;
}

}  // namespace stator
