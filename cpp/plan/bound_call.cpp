#include "plan/bound_call.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/WrapDimMinimal.h>
#include <c10/util/SmallVector.h>

#include <forward_list>
#include <stdexcept>
#include <string_view>
#include <unordered_map>

#include "graph/error.h"
#include "kernels/dispatch.h"
#include "ops/threads.h"
#include "plan/binding.h"
#include "plan/parts.h"

namespace stator {
namespace {

// Whether results of a call look as the binder says: nothing can be compared with what LibTorch was seen to give, as plans do. If the binder
// wants to be told what its result looks like, that.
using Foresee = bool (*)(const Call&, std::optional<TensorMeta>&);

// What a node's calls have in common.
struct BoundCall {
  const Node* node;
  Implementation otherwise;
  Binder binder;
  Foresee foresee;
  std::shared_ptr<PackedWeights> packed;
  mutable std::atomic<bool> out_of_memory{false};
};

// One call as binders see it. Buffers are the memory of arguments, of results and of what the call makes for itself.
class CallBinding final : public Binding {
 public:
  CallBinding(const BoundCall& shared, const Call& call, std::optional<TensorMeta> result)
      : shared_(shared), call_(call), foreseen_(std::move(result)), views_(call.input_count()) {
    for (int32_t i = 0; i < call.input_count(); ++i) {
      if (is_plain(call.in(i))) views_[i] = view_of(call.tensor(i), constant_of(node().input(i)) != nullptr);
    }
  }

  // False if the operator is to be called.
  bool run_all() {
    if (!shared_.binder(*this)) return false;
    for (const Step& step : steps_) {
      if (!step.kernel(step.specification.get(), addresses_.data() + step.first_address)) return false;
    }
    return true;
  }

  const Node& node() const override { return *shared_.node; }
  const c10::IValue* known(size_t i) const override {
    const c10::IValue& value = argument(i);
    return value.isTensor() || value.isTensorList() || value.isOptionalTensorList() ? nullptr : &value;
  }
  const TensorView* tensor(size_t i) const override { return views_[i] ? &*views_[i] : nullptr; }
  std::optional<std::vector<TensorView>> tensor_list(size_t i) const override {
    if (!argument(i).isTensorList()) return std::nullopt;
    const bool constant = constant_of(node().input(i)) != nullptr;
    const c10::ArrayRef<c10::IValue> elements = argument(i).toListRef();
    std::vector<TensorView> out;
    out.reserve(elements.size());
    for (const c10::IValue& element : elements) {
      if (!is_plain(element)) return std::nullopt;
      out.push_back(view_of(element.toTensor(), constant));
    }
    return out;
  }
  std::optional<std::vector<std::optional<TensorView>>> optional_tensor_list(size_t) const override {
    return std::nullopt;
  }
  const at::Tensor* constant(const TensorView& view) const override { return buffers_[view.buffer].constant; }
  const TensorMeta* observed(size_t i) const override { return i == 0 && foreseen_ ? &*foreseen_ : nullptr; }
  int64_t parts(double nanoseconds) override { return parts_of_work(nanoseconds, IntraOpThreads::now()); }

  TensorView result(size_t i, at::ScalarType dtype, at::IntArrayRef sizes, at::IntArrayRef strides) override {
    return view_of(call_.output(static_cast<int>(i), sizes, strides, dtype), false);
  }
  void result_is(size_t, TensorView) override { refuse(); }
  void result_is_known(size_t, c10::IValue) override { refuse(); }
  TensorView scratch(at::ScalarType dtype, at::IntArrayRef sizes) override {
    TensorMeta meta = TensorMeta::contiguous(dtype, sizes);
    scratch_.push_back(c10::GetCPUAllocator()->allocate(meta.bytes()));
    return add_buffer(scratch_.back().get(), nullptr, std::move(meta));
  }
  TensorView keep(at::Tensor constant) override {
    kept_.push_front(std::move(constant));
    return view_of(kept_.front(), true);
  }
  TensorView packed(const at::Tensor& weight, std::string_view form, const TensorMeta& meta,
                    const std::function<void(at::Tensor&)>& fill) override {
    return keep(shared_.packed->get(weight, form, meta, fill));
  }

  void run(BoundKernel kernel, std::shared_ptr<const void> specification, std::vector<TensorView> reads,
           std::vector<TensorView> writes, bool) override {
    steps_.push_back({kernel, std::move(specification), addresses_.size()});
    for (const auto* views : {&reads, &writes}) {
      for (const TensorView& view : *views)
        addresses_.push_back(static_cast<char*>(buffers_[view.buffer].address) + view.offset);
    }
  }
  void run(TileExpression expression) override {
    const auto tile = expression.compile(IntraOpThreads::now());
    if (!tile) refuse();
    run(kernels().tile->run, {tile, &tile->program}, tile->read, tile->written, false);
  }

 private:
  struct Buffer {
    void* address;
    const at::Tensor* constant;  // the whole of it; NULL if it may change
  };
  struct Step {
    BoundKernel kernel;
    std::shared_ptr<const void> specification;
    size_t first_address;
  };

  const c10::IValue& argument(size_t i) const { return call_.in(static_cast<int>(i)); }
  [[noreturn]] static void refuse() { throw std::logic_error("only plans can do that"); }
  TensorView view_of(const at::Tensor& tensor, bool constant) const {
    return add_buffer(const_cast<void*>(tensor.const_data_ptr()), constant ? &tensor : nullptr, TensorMeta::of(tensor));
  }
  TensorView add_buffer(void* address, const at::Tensor* constant, TensorMeta meta) const {
    buffers_.push_back({address, constant});
    return {static_cast<BufferId>(buffers_.size()) - 1, 0, std::move(meta)};
  }

  const BoundCall& shared_;
  const Call& call_;
  const std::optional<TensorMeta> foreseen_;
  mutable c10::SmallVector<Buffer, 24> buffers_;
  std::vector<std::optional<TensorView>> views_;  // of arguments that are tensors
  c10::SmallVector<Step, 4> steps_;
  c10::SmallVector<void*, 24> addresses_;  // of all steps
  c10::SmallVector<at::DataPtr, 4> scratch_;
  std::forward_list<at::Tensor> kept_;
};

bool run_bound(const BoundCall& shared, const Call& call) {
  std::optional<TensorMeta> result;
  if (shared.out_of_memory.load(std::memory_order_relaxed) || !shared.foresee(call, result)) return false;
  try {
    return CallBinding(shared, call, std::move(result)).run_all();
  } catch (const Error& error) {
    // For weights in other forms; then they would be made at each call, for nothing.
    shared.out_of_memory.store(error.code == ErrorCode::kMemoryLimit, std::memory_order_relaxed);
  } catch (const std::exception&) {
    // What the binder asked of LibTorch is an error; the operator will say which.
  }
  return false;
}

void run(const Call& call) {
  const auto& shared = call.data<BoundCall>();
  if (!run_bound(shared, call)) shared.otherwise.run(call.with(shared.otherwise.data.get()));
}

// Which calls, and what results look like ------------------------------------------------------------------------------------

bool has_plain_strides(const at::Tensor& tensor) {
  return tensor.strides() == at::IntArrayRef(c10::contiguous_strides(tensor.sizes()));
}

// Contiguous, but for inputs that LibTorch takes for channels-last ones. Dimensions of size 1 make some of those that are not; in one dimension
// what is not contiguous is made so.
bool foresee_convolution(const Call& call, std::optional<TensorMeta>&) {
  if (!is_plain(call.in(0)) || !is_plain(call.in(1)) || !has_plain_strides(call.tensor(1))) return false;
  const at::Tensor& input = call.tensor(0);
  return has_plain_strides(input) || (call.tensor(1).dim() == 3 && !input.is_contiguous());
}

// Steps come first in memory, whatever the strides of the input.
bool foresee_recurrent(const Call&, std::optional<TensorMeta>&) { return true; }

// Rows times a weight. Of small ones LibTorch's call takes no longer than binding.
template <int kInput, int kWeight, int kColumns>
bool foresee_product(const Call& call, std::optional<TensorMeta>& result) {
  constexpr int64_t kLeastWeight = 4096;
  if (!is_plain(call.in(kInput)) || !is_plain(call.in(kWeight))) return false;
  const at::Tensor &input = call.tensor(kInput), &weight = call.tensor(kWeight);
  if (weight.dim() != 2 || weight.numel() < kLeastWeight || input.dim() < 2) return false;
  if (input.dim() > 2 && !input.is_contiguous()) return false;
  at::DimVector sizes(input.sizes());
  sizes.back() = weight.size(kColumns);
  result = TensorMeta::contiguous(input.scalar_type(), sizes);
  return true;
}

// Elements of a tensor each on its own. For each call LibTorch has oneDNN make a primitive.
bool foresee_activation(const Call& call, std::optional<TensorMeta>& result) {
  if (!is_plain(call.in(0)) || call.tensor(0).scalar_type() != at::kFloat || !has_plain_strides(call.tensor(0)))
    return false;
  result = TensorMeta::of(call.tensor(0));
  return true;
}

// LibTorch takes 0.15 us for each row that is shorter than a vector. Of few elements in few rows its call takes no longer than binding.
bool foresee_softmax(const Call& call, std::optional<TensorMeta>& result) {
  constexpr int64_t kLeastRows = 4, kLeastElements = 4096;
  if (!foresee_activation(call, result) || result->sizes.empty() || !call.in(1).isInt()) return false;
  const int64_t elements = result->numel();
  return elements >= kLeastElements ||
         elements >= kLeastRows * result->sizes[c10::maybe_wrap_dim(call.in(1).toInt(), result->dim())];
}

// The result is like the query in memory, with batches and heads apart; else LibTorch goes another way.
bool foresee_attention(const Call& call, std::optional<TensorMeta>&) {
  return is_plain(call.in(0)) && call.tensor(0).dim() == 4;
}

// LibTorch makes a sum, then another operator of it.
bool foresee_mean(const Call& call, std::optional<TensorMeta>&) { return is_plain(call.in(0)); }

// What is made of rows, contiguous whatever the input. Of little LibTorch's call takes no longer than binding.
bool foresee_rows(const Call& call, std::optional<TensorMeta>&) {
  constexpr int64_t kLeastElements = 256;
  return is_plain(call.in(0)) && call.tensor(0).numel() >= kLeastElements;
}

constexpr int kNoWeight = -1;
struct BoundOperator {
  Foresee foresee;
  int weight;  // must be constant
};

const BoundOperator* bound_operator(std::string_view key) {
  static const std::unordered_map<std::string_view, BoundOperator> known{
      {"aten::conv1d", {foresee_convolution, 1}},
      {"aten::conv2d", {foresee_convolution, 1}},
      {"aten::conv1d.padding", {foresee_convolution, 1}},
      {"aten::conv2d.padding", {foresee_convolution, 1}},
      {"aten::convolution", {foresee_convolution, 1}},
      {"aten::_convolution", {foresee_convolution, 1}},
      {"aten::lstm.input", {foresee_recurrent, 2}},
      {"aten::gru.input", {foresee_recurrent, 2}},
      {"aten::rnn_tanh.input", {foresee_recurrent, 2}},
      {"aten::rnn_relu.input", {foresee_recurrent, 2}},
      {"aten::lstm_cell", {foresee_recurrent, 2}},
      {"aten::gru_cell", {foresee_recurrent, 2}},
      {"aten::rnn_tanh_cell", {foresee_recurrent, 2}},
      {"aten::rnn_relu_cell", {foresee_recurrent, 2}},
      {"aten::linear", {foresee_product<0, 1, 0>, 1}},
      {"aten::matmul", {foresee_product<0, 1, 1>, 1}},
      {"aten::mm", {foresee_product<0, 1, 1>, 1}},
      {"aten::addmm", {foresee_product<1, 2, 1>, 2}},
      {"aten::gelu", {foresee_activation, kNoWeight}},
      {"aten::mean.dim", {foresee_mean, kNoWeight}},
      {"aten::amax", {foresee_rows, kNoWeight}},
      {"aten::amin", {foresee_rows, kNoWeight}},
      {"aten::max.dim", {foresee_rows, kNoWeight}},
      {"aten::min.dim", {foresee_rows, kNoWeight}},
      {"aten::argmax", {foresee_rows, kNoWeight}},
      {"aten::argmin", {foresee_rows, kNoWeight}},
      {"aten::layer_norm", {foresee_rows, kNoWeight}},
      {"aten::softmax.int", {foresee_softmax, kNoWeight}},
      {"aten::log_softmax.int", {foresee_softmax, kNoWeight}},
      {"aten::_softmax", {foresee_softmax, kNoWeight}},
      {"aten::_log_softmax", {foresee_softmax, kNoWeight}},
      {"aten::scaled_dot_product_attention", {foresee_attention, kNoWeight}},
  };
  const auto found = known.find(key);
  return found == known.end() ? nullptr : &found->second;
}

}  // namespace

Implementation with_bound_kernels(const Node& node, Implementation otherwise, std::shared_ptr<PackedWeights> packed) {
  const BoundOperator* op = node.opcode == Opcode::kOperator ? bound_operator(node.op->key) : nullptr;
  if (!op || (op->weight != kNoWeight && !constant_of(node.input(op->weight)))) return otherwise;
  auto shared = std::make_shared<BoundCall>();
  shared->node = &node;
  shared->otherwise = std::move(otherwise);
  shared->binder = find_binder(node);
  shared->foresee = op->foresee;
  shared->packed = std::move(packed);
  return {.run = run, .data = std::move(shared), .kind = ImplKind::kOut};
}

}  // namespace stator
