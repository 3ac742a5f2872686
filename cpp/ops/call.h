// What an operator's implementation sees while it runs: its arguments, its results and where results may be placed.
//
// Ownership: arguments and results are slots of the running frame. A result tensor made by output() lives in planned memory if the plan
// gave the result a buffer that is large enough, else on the heap; the implementation cannot tell and need not.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <atomic>
#include <cstdint>

namespace stator {

// The place of one planned result within a runtime. `tensor` is kept between runs and re-pointed at `data`.
struct PlannedBuffer {
  void* data = nullptr;
  int64_t capacity = 0;
  std::atomic<int64_t>* observed = nullptr;  // largest size asked for, shared by all runtimes of the plan
  std::atomic<int64_t>* version = nullptr;   // counts the changes of all `observed` of the plan
  at::Tensor tensor;
  // Made in a loop and handed on to the next iteration: instead of planned memory two tensors on the heap, which iterations make in turn.
  bool carried = false;
  at::Tensor previous;
};

// Raises what the plan has observed of this buffer's size, so that the next layout has room for `bytes`.
void observe_size(const PlannedBuffer& buffer, int64_t bytes);

class Call {
 public:
  Call(c10::IValue* const* inputs, int32_t input_count, c10::IValue* const* outputs, PlannedBuffer* const* buffers,
       const void* data)
      : inputs_(inputs), outputs_(outputs), buffers_(buffers), data_(data), input_count_(input_count) {}

  int32_t input_count() const { return input_count_; }
  const c10::IValue& in(int i) const { return *inputs_[i]; }
  c10::IValue& mutable_in(int i) const { return *inputs_[i]; }
  c10::IValue& out(int i = 0) const { return *outputs_[i]; }
  const at::Tensor& tensor(int i) const { return inputs_[i]->toTensor(); }
  // What the implementation's prepare() made for this node.
  template <class T>
  const T& data() const {
    return *static_cast<const T*>(data_);
  }
  // The same call as another implementation, for which `data` was prepared, is to see it.
  Call with(const void* data) const {
    Call other = *this;
    other.data_ = data;
    return other;
  }

  // Makes result i a tensor of this dtype and shape, elements undefined. Empty strides mean contiguous.
  // The reference is to the tensor in the result's slot.
  at::Tensor& output(int i, at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType dtype) const;
  at::Tensor& output_like(int i, const at::Tensor& other) const {
    return output(i, other.sizes(), other.strides(), other.scalar_type());
  }

 private:
  c10::IValue* const* inputs_;
  c10::IValue* const* outputs_;
  PlannedBuffer* const* buffers_;  // NULL entries: not planned
  const void* data_;
  int32_t input_count_;
};

}  // namespace stator
