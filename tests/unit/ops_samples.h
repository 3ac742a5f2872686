// Samples of arguments for tables of operators: a row names operators and the arguments that all of them take.
#pragma once

#include "ops_frame.h"

namespace stator::test {

const c10::IValue kNone;

inline at::Tensor rnd(at::IntArrayRef sizes) { return at::randn(sizes); }
inline at::Tensor wide(at::IntArrayRef sizes) { return at::randn(sizes).to(at::kDouble); }
inline at::Tensor whole(at::IntArrayRef sizes) { return at::randint(-9, 9, sizes, at::kLong); }
inline at::Tensor half(at::IntArrayRef sizes) { return at::randn(sizes).to(at::kHalf); }
inline at::Tensor bits(at::IntArrayRef sizes) { return at::randn(sizes) > 0; }
inline at::Tensor last(at::IntArrayRef sizes) { return at::randn(sizes).contiguous(at::MemoryFormat::ChannelsLast); }
inline at::Tensor gaps(at::Tensor tensor) { return tensor.slice(-1, 0, tensor.size(-1), 2); }
inline at::Tensor below(int64_t bound, at::IntArrayRef sizes) { return at::randint(0, bound, sizes, at::kLong); }
inline c10::IValue ints(std::vector<int64_t> values) { return c10::IValue(std::move(values)); }
inline c10::IValue list(std::vector<at::Tensor> tensors) {
  return c10::IValue(c10::List<at::Tensor>(std::move(tensors)));
}
inline c10::IValue maybe(std::vector<std::optional<at::Tensor>> tensors) {
  c10::List<std::optional<at::Tensor>> all;
  for (auto& tensor : tensors) all.push_back(std::move(tensor));
  return all;
}
inline c10::IValue number_of(at::ScalarType type) { return static_cast<int64_t>(type); }
inline c10::IValue format(at::MemoryFormat format) { return static_cast<int64_t>(format); }

struct Row {
  std::vector<std::string> keys;  // of operators that take the same arguments
  std::vector<Arguments> samples;
};

const int64_t kChannelsLast = static_cast<int64_t>(at::MemoryFormat::ChannelsLast);

// Tensors and dtypes that many samples share.
struct Shared {
  at::Tensor f23 = rnd({2, 3}), f = rnd({4, 5}), images = last({2, 3, 4, 5});
  c10::IValue kFloat = number_of(at::kFloat), kDouble = number_of(at::kDouble), kLong = number_of(at::kLong),
              kInt = number_of(at::kInt);
};

struct OneKey {
  std::string key;
  std::vector<Arguments> samples;
};

inline std::vector<OneKey> by_key(const std::vector<Row>& rows) {
  std::vector<OneKey> keys;
  for (const Row& row : rows) {
    for (const std::string& key : row.keys) keys.push_back({key, row.samples});
  }
  return keys;
}

}  // namespace stator::test
