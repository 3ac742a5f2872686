// How many threads LibTorch's kernels use inside one run: set for the calling thread only, and restored.
#pragma once

namespace stator {

// The processors that this process may use: affinity, cut by the cgroup's quota. At least 1.
int available_processors();

class IntraOpThreads {
 public:
  explicit IntraOpThreads(int count);
  ~IntraOpThreads();
  IntraOpThreads(const IntraOpThreads&) = delete;
  IntraOpThreads& operator=(const IntraOpThreads&) = delete;

 private:
  int previous_ = 0;  // 0: nothing to restore
  int previous_mkl_ = 0;
};

}  // namespace stator
