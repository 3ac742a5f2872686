#include "passes/fold_batch_norm.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <array>
#include <optional>

#include "analysis/aliases.h"
#include "passes/effects.h"
#include "passes/match.h"

namespace stator {
namespace {

constexpr std::array<std::string_view, 8> kConvolutions{
    "aten::conv1d",         "aten::conv2d",         "aten::conv3d",       "aten::conv1d.padding",
    "aten::conv2d.padding", "aten::conv3d.padding", "aten::_convolution", "aten::convolution",
};

// These insist on a batch dimension, and may be transposed.
bool is_general(const Node& conv) {
  return conv.op->name == "aten::_convolution" || conv.op->name == "aten::convolution";
}

bool is_convolution(const Node* node) {
  if (!node || node->opcode != Opcode::kOperator) return false;
  if (std::find(kConvolutions.begin(), kConvolutions.end(), node->op->key) == kConvolutions.end()) return false;
  return !is_general(*node) || is_constant_bool(argument(*node, "transposed"), false);
}

// Questions whose answers batch_norm does not change.
bool asks_for_metadata(const Use& use) {
  if (!use.user || use.user->opcode != Opcode::kOperator) return false;
  static constexpr std::array<std::string_view, 6> kQuestions{"aten::dim",   "aten::size",   "aten::len",
                                                              "prim::dtype", "prim::device", "aten::is_floating_point"};
  return std::find(kQuestions.begin(), kQuestions.end(), use.user->op->name) != kQuestions.end();
}

struct Parameters {
  at::Tensor weight;
  at::Tensor bias;
};

class Folder {
 public:
  explicit Folder(Graph& graph) : graph_(graph), aliases_(graph), immutability_(graph, aliases_) {}

  bool run() {
    bool changed = false;
    for_each_node(graph_.root(), [&](Node* node) { changed |= fold(node); });
    return changed;
  }

 private:
  bool fold(Node* norm) {
    if (!norm->is_operator("aten::batch_norm") || !is_constant_bool(argument(*norm, "training"), false)) return false;
    Node* conv = norm->input(0)->node;
    if (!is_convolution(conv) || conv->owner != norm->owner || !read_by(conv->output(), norm)) return false;
    auto folded = fold_parameters(*conv, *norm);
    if (!folded) return false;

    auto replacement = batched(conv);
    if (!replacement) return false;
    graph_.set_input(replacement, 1, graph_.constant(folded->weight, c10::TensorType::get()));
    graph_.set_input(replacement, 2, graph_.constant(folded->bias, c10::TensorType::get()));
    graph_.replace_uses(norm->output(), replacement->output());
    graph_.erase(norm);
    return true;
  }

  bool read_by(const Value* value, const Node* norm) const {
    if (!immutability_.holds(value)) return false;
    return std::all_of(value->uses.begin(), value->uses.end(),
                       [&](const Use& use) { return (use.user == norm && use.index == 0) || asks_for_metadata(use); });
  }

  // A constant tensor that nothing writes; undefined if the argument is a constant None.
  std::optional<at::Tensor> parameter(const Node& node, std::string_view name) const {
    const Value* value = argument(node, name);
    const c10::IValue* constant = value ? constant_of(value) : nullptr;
    if (!constant) return std::nullopt;
    if (constant->isNone()) return at::Tensor();
    if (!constant->isTensor() || !immutability_.holds(value)) return std::nullopt;
    return constant->toTensor();
  }

  std::optional<Parameters> fold_parameters(const Node& conv, const Node& norm) const {
    auto weight = parameter(conv, "weight"), bias = parameter(conv, "bias");
    auto mean = parameter(norm, "running_mean"), variance = parameter(norm, "running_var");
    auto scale = parameter(norm, "weight"), shift = parameter(norm, "bias");
    const c10::IValue* epsilon = constant_argument(norm, "eps");
    if (!weight || !bias || !mean || !variance || !scale || !shift || !epsilon || !epsilon->isDouble())
      return std::nullopt;
    if (!weight->defined() || !mean->defined() || !variance->defined()) return std::nullopt;
    const auto dtype = weight->scalar_type();
    if (dtype != at::kFloat && dtype != at::kDouble) return std::nullopt;
    for (const auto& tensor : {*bias, *mean, *variance, *scale, *shift}) {
      if (tensor.defined() && (tensor.scalar_type() != dtype || tensor.dim() != 1 || tensor.size(0) != weight->size(0)))
        return std::nullopt;
    }

    c10::InferenceMode inference;
    const auto or_else = [&](const at::Tensor& tensor, double value) {
      return tensor.defined() ? tensor.to(at::kDouble) : at::full({weight->size(0)}, value, at::kDouble);
    };
    at::Tensor factor = or_else(*scale, 1) * at::rsqrt(variance->to(at::kDouble) + epsilon->toDouble());
    std::vector<int64_t> shape(weight->dim(), 1);
    shape[0] = -1;
    return Parameters{(weight->to(at::kDouble) * factor.reshape(shape)).to(dtype),
                      ((or_else(*bias, 0) - mean->to(at::kDouble)) * factor + or_else(*shift, 0)).to(dtype)};
  }

  // The same convolution as an operator that insists on a batch dimension, in place; NULL if its padding is not the same on both sides.
  Node* batched(Node* conv) {
    if (is_general(*conv)) return conv;
    const size_t rank = constant_of(conv->input(1))->toTensor().dim() - 2;
    Value* padding = conv->op->overload == "padding" ? explicit_padding(*conv, rank) : argument(*conv, "padding");
    Value* stride = argument(*conv, "stride");
    Value* dilation = argument(*conv, "dilation");
    for (const Value* list : {padding, stride, dilation}) {
      if (!list || list->type->kind() != c10::TypeKind::ListType) return nullptr;
    }
    Value* groups = argument(*conv, "groups");
    Value* input = conv->input(0);
    Value* weight = conv->input(1);
    Value* bias = conv->input(2);
    Value* transposed = graph_.constant(false);
    Value* output_padding = graph_.constant(c10::List<int64_t>(std::vector<int64_t>(rank, 0)));
    graph_.remove_inputs(conv);
    conv->op = find_operator("aten::convolution", "");
    for (Value* value : {input, weight, bias, stride, padding, dilation, transposed, output_padding, groups})
      graph_.add_input(conv, value);
    return conv;
  }

  Value* explicit_padding(const Node& conv, size_t rank) {
    const c10::IValue* how = constant_argument(conv, "padding");
    const c10::IValue* dilation = constant_argument(conv, "dilation");
    if (!how || !how->isString()) return nullptr;
    std::vector<int64_t> sizes(rank, 0);
    if (how->toStringRef() == "same") {
      if (!dilation || !dilation->isIntList() || dilation->toListRef().empty()) return nullptr;
      std::vector<int64_t> steps = dilation->toIntVector();
      const at::Tensor& weight = constant_of(conv.input(1))->toTensor();
      for (size_t i = 0; i < rank; ++i) {
        int64_t both = steps[steps.size() == 1 ? 0 : i] * (weight.size(static_cast<int64_t>(i) + 2) - 1);
        if (both % 2 != 0) return nullptr;
        sizes[i] = both / 2;
      }
    } else if (how->toStringRef() != "valid") {
      return nullptr;
    }
    return graph_.constant(c10::List<int64_t>(sizes));
  }

  Graph& graph_;
  Aliases aliases_;
  Immutability immutability_;
};

}  // namespace

bool fold_batch_norm(Graph& graph) { return Folder(graph).run(); }

}  // namespace stator
