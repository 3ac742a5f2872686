#include "bench/model_data.h"

#include <ATen/ops/isnan.h>
#include <ATen/ops/where.h>
#include <torch/script.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <stdexcept>

namespace stator::bench {
namespace {

struct Tolerance {
  double relative;
  double absolute;
};

// The defaults of torch.testing.assert_close.
Tolerance tolerance(at::ScalarType dtype) {
  switch (dtype) {
    case at::kHalf:
      return {1e-3, 1e-5};
    case at::kBFloat16:
      return {1.6e-2, 1e-5};
    case at::kFloat:
      return {1.3e-6, 1e-5};
    case at::kDouble:
      return {1e-7, 1e-7};
    default:
      return {0, 0};
  }
}

double error_of(const at::Tensor& got, const at::Tensor& wanted, double rounding) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (got.sizes() != wanted.sizes() || got.scalar_type() != wanted.scalar_type()) return kInfinity;
  if (got.numel() == 0) return 0;
  const auto [relative, absolute] = tolerance(wanted.scalar_type());
  if (relative == 0) return got.equal(wanted) ? 0 : kInfinity;
  const at::Tensor a = got.to(at::kDouble), b = wanted.to(at::kDouble);
  const at::Tensor same = (a == b).logical_or(a.isnan().logical_and(b.isnan()));
  const at::Tensor error = at::where(same, 0.0, (a - b).abs() / (b.abs() * relative + (absolute + rounding)));
  const double largest = error.max().item<double>();
  return largest == largest ? largest : kInfinity;
}

std::vector<at::Tensor> read_tensors(const c10::IValue& list) {
  std::vector<at::Tensor> tensors;
  for (const c10::IValue& item : list.toListRef()) tensors.push_back(item.toTensor());
  return tensors;
}

Expected read_expected(const c10::IValue& tensors, const c10::IValue& rounding) {
  Expected expected{read_tensors(tensors), {}};
  for (const c10::IValue& item : rounding.toListRef()) expected.rounding.push_back(item.toDouble());
  return expected;
}

}  // namespace

ModelData read_model_data(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  const c10::IValue saved = torch::jit::pickle_load(bytes);
  const auto& parts = saved.toTupleRef().elements();
  ModelData data{parts.at(0).toTupleRef().elements().vec(),
                 read_expected(parts.at(1), parts.at(3)),
                 read_expected(parts.at(2), parts.at(3)),
                 {}};
  for (const c10::IValue& other : parts.at(4).toListRef()) {
    const auto& sample = other.toTupleRef().elements();
    data.others.push_back({sample.at(0).toTupleRef().elements().vec(), read_expected(sample.at(1), sample.at(2))});
  }
  return data;
}

double largest_error(const std::vector<at::Tensor>& got, const Expected& wanted) {
  if (got.size() != wanted.tensors.size()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (size_t i = 0; i < got.size(); ++i)
    largest = std::max(largest, error_of(got[i], wanted.tensors[i], wanted.rounding.at(i)));
  return largest;
}

}  // namespace stator::bench
