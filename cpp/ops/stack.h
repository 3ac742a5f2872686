// A stack for boxed calls that keeps its memory: each thread has one and lends it to one call at a time. Calls nest, as operators may
// call operators: an inner one finds nothing to borrow and makes its own.
#pragma once

#include <ATen/core/stack.h>

#include <utility>

namespace stator {

class BorrowedStack {
 public:
  BorrowedStack() : stack_(std::exchange(spare(), {})) {}
  BorrowedStack(const BorrowedStack&) = delete;
  BorrowedStack& operator=(const BorrowedStack&) = delete;
  ~BorrowedStack() {
    stack_.clear();
    if (stack_.capacity() > spare().capacity()) spare() = std::move(stack_);
  }

  torch::jit::Stack& operator*() { return stack_; }
  torch::jit::Stack* operator->() { return &stack_; }

 private:
  static torch::jit::Stack& spare() {
    static thread_local torch::jit::Stack stack;
    return stack;
  }

  torch::jit::Stack stack_;
};

}  // namespace stator
