// How many threads LibTorch's kernels use inside one run: set for the calling thread only, and restored.
#pragma once

namespace stator {

class IntraOpThreads {
 public:
  explicit IntraOpThreads(int count);
  // Of the calling thread; 1 if this LibTorch has no OpenMP.
  static int now();
  ~IntraOpThreads();
  IntraOpThreads(const IntraOpThreads&) = delete;
  IntraOpThreads& operator=(const IntraOpThreads&) = delete;

 private:
  int previous_ = 0;  // 0: nothing to restore
  int previous_mkl_ = 0;
};

}  // namespace stator
