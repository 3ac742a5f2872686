#include "passes/fold_batch_norm.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "analysis/aliases.h"
#include "analysis/effects.h"
#include "graph/match.h"
#include "passes/insert_call.h"

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

class BatchNormFolder {
 public:
  explicit BatchNormFolder(Graph& graph) : graph_(graph), aliases_(graph), immutability_(graph, aliases_) {}

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
    if (is_kept_for_unbatched(*conv)) return false;
    auto folded = fold_parameters(*conv, *norm);
    if (!folded) return false;
    if (is_general(*conv) || batch_is_checked(*conv, *norm)) {
      graph_.replace_uses(norm->output(), conv->output());
    } else {
      if (!all_constant(*norm)) return false;
      conv = keep_for_unbatched(conv, *norm);
      graph_.replace_uses(norm->output(), conv->owner->owner->output());
    }
    graph_.set_input(conv, 1, graph_.constant(folded->weight, c10::TensorType::get()));
    graph_.set_input(conv, 2, graph_.constant(folded->bias, c10::TensorType::get()));
    graph_.erase(norm);
    return true;
  }

  static int64_t batched_rank(const Node& conv) { return constant_of(conv.input(1))->toTensor().dim(); }

  static bool all_constant(const Node& norm) {
    return std::all_of(norm.inputs.begin() + 1, norm.inputs.end(), [](const Value* v) { return constant_of(v); });
  }

  // The model raises, before it comes to batch_norm, unless the convolution's result has a batch dimension: as torch.nn.BatchNorm2d does.
  static bool batch_is_checked(const Node& conv, const Node& norm) {
    for (const Use& asked : conv.output()->uses) {
      if (!asked.user || !asked.user->is_operator("aten::dim")) continue;
      for (const Use& compared : asked.user->output()->uses) {
        if (!compared.user || !compared.user->is_operator("aten::ne") || compared.index != 0) continue;
        const c10::IValue* rank = constant_of(compared.user->input(1));
        if (!rank || !rank->isInt() || rank->toInt() != batched_rank(conv)) continue;
        const auto& decides = compared.user->output()->uses;
        if (std::any_of(decides.begin(), decides.end(), [&](const Use& use) { return raises_before(use.user, norm); }))
          return true;
      }
    }
    return false;
  }

  static bool raises_before(const Node* branch, const Node& norm) {
    if (!branch || branch->opcode != Opcode::kIf || branch->owner != norm.owner) return false;
    const auto& taken = branch->blocks[0]->nodes;
    if (std::none_of(taken.begin(), taken.end(), [](const Node* n) { return n->opcode == Opcode::kRaise; }))
      return false;
    return std::find(branch->position, norm.owner->nodes.end(), &norm) != norm.owner->nodes.end();
  }

  // The other side of what keep_for_unbatched() has made.
  static bool is_kept_for_unbatched(const Node& conv) {
    const Node* branch = conv.owner->owner;
    if (!branch || branch->opcode != Opcode::kIf || branch->blocks[1] != conv.owner) return false;
    const Node* compared = branch->input()->node;
    if (!compared || !compared->is_operator("aten::eq") || compared->inputs.size() != 2) return false;
    const Node* asked = compared->input(0)->node;
    return asked && asked->is_operator("aten::dim") && asked->input() == conv.input(0);
  }

  // if input.dim() == rank: the convolution that is to be folded, which is returned; else: both as they were.
  Node* keep_for_unbatched(Node* conv, const Node& norm) {
    Value* rank = insert_call(graph_, "aten::dim", {conv->input(0)}, conv);
    Value* batched = insert_call(graph_, "aten::eq.int", {rank, graph_.constant(batched_rank(*conv))}, conv);
    Node* branch = graph_.create(Opcode::kIf, {batched});
    branch->source = norm.source;
    Node* folded = copy_into(graph_.add_block(branch), *conv);
    Node* kept = copy_into(graph_.add_block(branch), *conv);
    Node* kept_norm = copy_into(branch->blocks[1], norm);
    graph_.set_input(kept_norm, 0, kept->output());
    for (size_t i = 1; i < kept_norm->inputs.size(); ++i) {  // the convolution may stand before them
      const Value* input = norm.input(i);
      graph_.set_input(kept_norm, i, graph_.constant(*constant_of(input), input->type));
    }
    graph_.add_result(branch->blocks[0], folded->output());
    graph_.add_result(branch->blocks[1], kept_norm->output());
    graph_.add_output(branch, norm.output()->type, norm.output()->name);
    graph_.insert_before(conv, branch);
    graph_.replace_uses(conv->output(), branch->output());
    graph_.set_input(const_cast<Node*>(&norm), 0, branch->output());
    graph_.erase(conv);
    return folded;
  }

  Node* copy_into(Block* block, const Node& node) {
    Node* copy = graph_.create(node.op, node.inputs);
    copy->source = node.source;
    graph_.add_output(copy, node.output()->type, node.output()->name);
    graph_.append(block, copy);
    return copy;
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

  Graph& graph_;
  Aliases aliases_;
  Immutability immutability_;
};

}  // namespace

bool fold_batch_norm(Graph& graph) { return BatchNormFolder(graph).run(); }

}  // namespace stator
