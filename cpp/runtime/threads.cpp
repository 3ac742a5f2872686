#include "runtime/threads.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

namespace stator {
namespace {

// Quota of cgroup v2, or v1, in processors; 0 if there is none.
double cgroup_quota() {
  std::ifstream v2("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (v2 >> quota >> period) return quota == "max" || period <= 0 ? 0 : std::atof(quota.c_str()) / period;
  std::ifstream v1_quota("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
  std::ifstream v1_period("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  double limit = 0;
  if (v1_quota >> limit && v1_period >> period && limit > 0 && period > 0) return limit / period;
  return 0;
}

int count_processors() {
  cpu_set_t set;
  int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
  double quota = cgroup_quota();
  if (quota > 0) count = std::min(count, std::max(1, static_cast<int>(std::floor(quota))));
  return std::max(count, 1);
}

// Per-thread settings of the OpenMP and MKL that LibTorch itself uses. They are looked up, not linked: a build of LibTorch may have
// neither, and a second OpenMP in the process would be worse than none.
struct ThreadControls {
  void (*set_omp)(int) = nullptr;
  int (*get_omp)() = nullptr;
  int (*set_mkl_local)(int) = nullptr;

  ThreadControls() {
    Dl_info info;
    if (!dladdr(reinterpret_cast<void*>(&at::get_num_threads), &info)) return;
    void* torch = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    if (!torch) return;
    // dlsym on a handle looks through its dependencies too.
    set_omp = reinterpret_cast<void (*)(int)>(dlsym(torch, "omp_set_num_threads"));
    get_omp = reinterpret_cast<int (*)()>(dlsym(torch, "omp_get_max_threads"));
    set_mkl_local = reinterpret_cast<int (*)(int)>(dlsym(torch, "MKL_Set_Num_Threads_Local"));
  }
};

const ThreadControls& controls() {
  static const ThreadControls found;
  return found;
}

}  // namespace

int available_processors() {
  static const int count = count_processors();
  return count;
}

IntraOpThreads::IntraOpThreads(int count) {
  const ThreadControls& control = controls();
  if (!control.set_omp || !control.get_omp) return;
  at::get_num_threads();  // LibTorch sets up each thread on first use and would undo what follows
  int now = control.get_omp();
  if (now == count) return;
  previous_ = now;
  control.set_omp(count);
  if (control.set_mkl_local) previous_mkl_ = control.set_mkl_local(count);
}

IntraOpThreads::~IntraOpThreads() {
  if (previous_ == 0) return;
  controls().set_omp(previous_);
  if (controls().set_mkl_local) controls().set_mkl_local(previous_mkl_);
}

}  // namespace stator
