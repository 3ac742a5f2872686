#include "ops/fitting_threads.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "ops/threads.h"

namespace stator {
namespace {

// Multiplications from which on threads are worth starting: some tens of microseconds in one.
constexpr int64_t kWorthThreads = int64_t{1} << 20;

// Estimates a call's multiplications.
using Work = int64_t (*)(const Call&);

const at::Tensor* tensor_at(const Call& call, int index) {
  if (index >= call.input_count() || !call.in(index).isTensor() || !call.tensor(index).defined()) return nullptr;
  return &call.tensor(index);
}

int64_t size_or_1(const at::Tensor& tensor, int64_t dim) {
  return tensor.dim() >= std::abs(dim) ? tensor.size(dim) : 1;
}

// Of a and b, contracted over the last dimension of a: b has `dim` left, a vector nothing.
template <int first, int second, int dim>
int64_t product(const Call& call) {
  const at::Tensor* a = tensor_at(call, first);
  const at::Tensor* b = tensor_at(call, second);
  return a && b ? a->numel() * (b->dim() < 2 ? 1 : b->size(dim)) : kWorthThreads;
}

// (input, weight[out, in, kernel...]): the kernel is applied at each place of the input.
int64_t convolution(const Call& call) {
  const at::Tensor* input = tensor_at(call, 0);
  const at::Tensor* weight = tensor_at(call, 1);
  if (!input || !weight) return kWorthThreads;
  return input->numel() / std::max<int64_t>(1, size_or_1(*input, 1 - weight->dim())) * weight->numel();
}

// (input, state, weights, ...): all weights are applied at each step.
int64_t recurrent(const Call& call) {
  const at::Tensor* input = tensor_at(call, 0);
  if (!input || !call.in(2).isTensorList()) return kWorthThreads;
  int64_t weights = 0;
  for (const c10::IValue& weight : call.in(2).toListRef()) weights += weight.toTensor().numel();
  return input->numel() / std::max<int64_t>(1, size_or_1(*input, -1)) * weights;
}

Work work_of(const Node& node) {
  static const std::unordered_map<std::string_view, Work> known{
      {"aten::linear", product<0, 1, -2>},
      {"aten::mm", product<0, 1, -1>},
      {"aten::matmul", product<0, 1, -1>},
      {"aten::bmm", product<0, 1, -1>},
      {"aten::mv", product<0, 1, -1>},
      {"aten::addmm", product<1, 2, -1>},
      {"aten::addmv", product<1, 2, -1>},
      {"aten::baddbmm", product<1, 2, -1>},
      {"aten::conv1d", convolution},
      {"aten::conv2d", convolution},
      {"aten::conv3d", convolution},
      {"aten::convolution", convolution},
      {"aten::_convolution", convolution},
      {"aten::conv_transpose1d", convolution},
      {"aten::conv_transpose2d.input", convolution},
      {"aten::conv_transpose3d.input", convolution},
      {"aten::lstm.input", recurrent},
      {"aten::gru.input", recurrent},
      {"aten::rnn_tanh.input", recurrent},
      {"aten::rnn_relu.input", recurrent},
      {"aten::scaled_dot_product_attention", product<0, 1, -2>},
  };
  if (node.opcode != Opcode::kOperator) return nullptr;
  auto found = known.find(node.op->key);
  return found == known.end() ? nullptr : found->second;
}

struct Wrapped {
  Implementation inner;
  Work work;
};

void run_with_fitting_threads(const Call& call) {
  const auto& wrapped = call.data<Wrapped>();
  const Call inner = call.with(wrapped.inner.data.get());
  std::optional<IntraOpThreads> one;
  if (IntraOpThreads::now() > 1 && wrapped.work(call) < kWorthThreads) one.emplace(1);
  wrapped.inner.run(inner);
}

}  // namespace

Implementation with_fitting_threads(const Node& node, Implementation implementation) {
  const Work work = work_of(node);
  if (!work) return implementation;
  Implementation out{
      .run = run_with_fitting_threads, .data = {}, .kind = implementation.kind, .reason = implementation.reason};
  out.data = std::make_shared<const Wrapped>(Wrapped{std::move(implementation), work});
  return out;
}

}  // namespace stator
