// Tensors as rows of a table over records of raw memory: what shares memory shares a record, and one tensor is one row.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "frontend/archive.h"
#include "frontend/json.h"

namespace stator::planned {

using json::Json;

class TensorWriter {
 public:
  // The row; -1 for an undefined tensor. Throws Error(kUnsupported) for one that is not strided memory of the CPU.
  int64_t add(const at::Tensor& tensor);
  // Whether some tensor in the table has this memory.
  bool has_memory(const at::Tensor& tensor) const;
  const Json& rows() const { return rows_; }
  const std::vector<c10::Storage>& memory() const { return memory_; }

 private:
  Json rows_ = Json::array();
  std::vector<c10::Storage> memory_;
  std::unordered_map<const c10::StorageImpl*, int64_t> known_memory_;
  std::unordered_map<const c10::TensorImpl*, int64_t> known_;
  std::vector<at::Tensor> kept_;  // alive, as keys
};

class TensorReader {
 public:
  // `record` gives the bytes of a record. With `borrow` tensors point into `archive` and keep it alive, else they are copies.
  TensorReader(const Json& rows, size_t records, const std::function<std::span<const char>(size_t)>& record,
               const ArchiveBytes& archive, bool borrow);

  at::Tensor operator[](const Json& row) const;

 private:
  std::vector<at::Tensor> tensors_;
};

}  // namespace stator::planned
