// Runs one operator as a plan would, on a frame made by hand, and compares it with LibTorch's own operator.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cctype>
#include <deque>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "ops/fallback.h"
#include "ops/registry.h"

namespace stator::test {

using Arguments = std::vector<c10::IValue>;

// Tensors keep their strides, lists are copied with their elements.
c10::IValue deep_copy(const c10::IValue& value);

// dtype, sizes, strides of dimensions larger than 1, and elements, through lists and tuples.
void expect_same(const c10::IValue& expected, const c10::IValue& actual, const std::string& what);

// A node of one operator with slots for its arguments and results, kept over many runs as a runtime keeps them.
class Frame {
 public:
  // Every tensor result gets `capacity` bytes of planned memory.
  Frame(const Operator& op, int64_t capacity);
  // Prim operators by opcode; the outputs' types must be given.
  Frame(Opcode opcode, size_t inputs, std::vector<c10::TypePtr> outputs, int64_t capacity);

  void run(const Arguments& arguments);
  const c10::IValue& in(size_t i) const { return inputs_[i]; }
  const c10::IValue& out(size_t i = 0) const { return outputs_[i]; }
  size_t output_count() const { return outputs_.size(); }
  // Whether result i lies in its planned memory.
  bool planned(size_t i = 0) const;
  int64_t observed(size_t i = 0) const { return observed_[i]; }
  ImplKind kind() const { return implementation_.kind; }
  Node& node() { return *node_; }
  // Runs what was prepared for the other's node, as two runtimes of one plan do.
  void share(const Frame& other) { implementation_ = other.implementation_; }
  // After the node was changed.
  void choose() { implementation_ = choose_implementation(*node_); }

 private:
  void make(Node* node, const std::vector<c10::TypePtr>& inputs, const std::vector<c10::TypePtr>& outputs,
            int64_t capacity);

  Graph graph_;
  Node* node_ = nullptr;
  Implementation implementation_;
  std::vector<std::vector<char>> memory_;
  std::deque<std::atomic<int64_t>> observed_;
  std::deque<PlannedBuffer> buffers_;
  std::vector<c10::IValue> inputs_, outputs_;
};

// Runs all samples, twice over, in one frame with ample memory, then in one with too little. Where LibTorch raises, so must we.
void expect_like_libtorch(const std::string& key, const std::vector<Arguments>& samples);

// A key as GoogleTest takes names.
inline std::string name_of(std::string key) {
  for (char& c : key) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return key;
}

}  // namespace stator::test
