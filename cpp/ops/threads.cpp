#include "ops/threads.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>

namespace stator {
namespace {

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

int IntraOpThreads::now() { return controls().get_omp ? controls().get_omp() : 1; }

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
