// The signature of a run: what is known before it begins and decides shapes. dtype, sizes and strides of the tensors that go in, values of
// integers and booleans; of the method's arguments and of the state that it reads. Never what is in a tensor.
#pragma once

#include <ATen/core/ivalue.h>

#include <span>
#include <vector>

#include "plan/tensor_meta.h"

namespace stator {

// What goes into a run, borrowed.
struct RunValues {
  std::span<const c10::IValue> inputs;
  std::span<const c10::IValue> state;
  std::span<const int32_t> state_read;  // indices into `state`
  int threads = 1;                      // that may share large work

  size_t size() const { return inputs.size() + state_read.size(); }
  const c10::IValue& operator[](size_t i) const {
    return i < inputs.size() ? inputs[i] : state[state_read[i - inputs.size()]];
  }
};

struct SignatureEntry {
  // kOther says nothing of the value: floats, strings, containers, tensors that are not plain.
  enum class Kind : uint8_t { kTensor, kInt, kBool, kNone, kOther } kind = Kind::kOther;
  int64_t number = 0;   // kInt, kBool
  TensorMeta tensor{};  // kTensor

  static SignatureEntry of(const c10::IValue& value);
  bool matches(const c10::IValue& value) const;
  bool operator==(const SignatureEntry&) const = default;
};

class InputSignature {
 public:
  explicit InputSignature(const RunValues& values);
  InputSignature(std::vector<SignatureEntry> entries, int threads);

  const std::vector<SignatureEntry>& entries() const { return entries_; }  // inputs, then state
  // Plans differ in how many parts large work is done in.
  int threads() const { return threads_; }
  size_t hash() const { return hash_; }
  // That of InputSignature(values), without making one.
  static size_t hash_of(const RunValues& values);
  // The same as *this == InputSignature(values), without making one.
  bool matches(const RunValues& values) const;
  bool operator==(const InputSignature& other) const {
    return hash_ == other.hash_ && threads_ == other.threads_ && entries_ == other.entries_;
  }

 private:
  std::vector<SignatureEntry> entries_;
  int threads_ = 1;
  size_t hash_ = 0;
};

}  // namespace stator
