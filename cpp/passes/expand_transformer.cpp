#include "passes/expand_transformer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>

#include "graph/match.h"
#include "passes/insert_call.h"

namespace stator {
namespace {

bool makes_nested_tensors(const Graph& graph) {
  bool any = false;
  for_each_node(graph.root(), [&](const Node* node) {
    any |= node->opcode == Opcode::kOperator && node->op->name.find("nested") != std::string::npos;
  });
  return any;
}

const at::Tensor* constant_tensor(const Node& node, std::string_view name) {
  const c10::IValue* value = constant_argument(node, name);
  return value && value->isTensor() && value->toTensor().defined() ? &value->toTensor() : nullptr;
}

bool is_none(const Node& node, std::string_view name) {
  const c10::IValue* value = constant_argument(node, name);
  return value && value->isNone();
}

// Whether constants of these names have these sizes and all the dtype of the first, which is float32 or float64.
struct Weight {
  const char* name;
  at::DimVector sizes;
};
bool have_sizes(const Node& node, std::initializer_list<Weight> weights) {
  const at::Tensor* first = constant_tensor(node, weights.begin()->name);
  if (!first || (first->scalar_type() != at::kFloat && first->scalar_type() != at::kDouble)) return false;
  return std::all_of(weights.begin(), weights.end(), [&](const Weight& weight) {
    const at::Tensor* tensor = constant_tensor(node, weight.name);
    return tensor && tensor->sizes() == at::IntArrayRef(weight.sizes) && tensor->scalar_type() == first->scalar_type();
  });
}

struct Heads {
  int64_t width, count;
};

std::optional<Heads> heads_of(const Node& node, std::string_view count_name) {
  const c10::IValue *width = constant_argument(node, "embed_dim"), *count = constant_argument(node, count_name);
  if (!width || !width->isInt() || !count || !count->isInt()) return std::nullopt;
  const Heads heads{width->toInt(), count->toInt()};
  if (heads.width < 1 || heads.count < 1 || heads.width % heads.count != 0) return std::nullopt;
  const int64_t d = heads.width;
  const bool fits = have_sizes(
      node, {{"qkv_weight", {3 * d, d}}, {"qkv_bias", {3 * d}}, {"proj_weight", {d, d}}, {"proj_bias", {d}}});
  return fits ? std::optional(heads) : std::nullopt;
}

// What `mask_type` says of a mask.
constexpr int64_t kForEachKey = 1;   // [batch, steps]
constexpr int64_t kForEachHead = 2;  // [batch, heads, steps, steps]

// Whether there is no mask, or one of the kinds that Python's layers hand on.
bool has_usual_mask(const Node& node) {
  if (is_none(node, "mask")) return true;
  const c10::IValue* type = constant_argument(node, "mask_type");
  return argument(node, "mask")->is_tensor() && type && type->isInt() &&
         (type->toInt() == kForEachKey || type->toInt() == kForEachHead);
}

class Expansion {
 public:
  Expansion(Graph& graph, Node* node) : graph_(graph), node_(node) {}

  bool expand() {
    if (node_->is_operator("aten::_transformer_encoder_layer_fwd")) return expand_layer();
    if (node_->is_operator("aten::_native_multi_head_attention")) return expand_attention();
    return false;
  }

 private:
  bool expand_attention() {
    const auto heads = heads_of(*node_, "num_head");
    const bool is_self = node_->input(0) == node_->input(1) && node_->input(0) == node_->input(2);
    if (!heads || !is_self || !has_usual_mask(*node_) || !node_->output(1)->uses.empty()) return false;
    replace_by(attention(node_->input(0), *heads));
    return true;
  }

  bool expand_layer() {
    const auto heads = heads_of(*node_, "num_heads");
    const at::Tensor* inner = constant_tensor(*node_, "ffn_bias_1");
    const Value *use_gelu = argument(*node_, "use_gelu"), *norm_first = argument(*node_, "norm_first");
    if (!heads || !inner || inner->dim() != 1 || !constant_of(use_gelu) || !constant_of(norm_first)) return false;
    const int64_t d = heads->width, wide = inner->size(0);
    const bool fits = have_sizes(*node_, {{"qkv_weight", {3 * d, d}},
                                          {"norm_weight_1", {d}},
                                          {"norm_bias_1", {d}},
                                          {"norm_weight_2", {d}},
                                          {"norm_bias_2", {d}},
                                          {"ffn_weight_1", {wide, d}},
                                          {"ffn_bias_1", {wide}},
                                          {"ffn_weight_2", {d, wide}},
                                          {"ffn_bias_2", {d}}});
    if (!fits || !has_usual_mask(*node_)) return false;
    Value* const src = node_->input(0);
    if (constant_of(norm_first)->toBool()) {
      Value* const attended = add(attention(norm(src, d, "1"), *heads), src);
      replace_by(add(feed_forward(norm(attended, d, "2")), attended));
    } else {
      Value* const attended = norm(add(attention(src, *heads), src), d, "1");
      replace_by(norm(add(feed_forward(attended), attended), d, "2"));
    }
    return true;
  }

  void replace_by(Value* value) {
    graph_.replace_uses(node_->output(), value);
    graph_.erase(node_);
  }

  Value* call(const char* key, std::vector<Value*> inputs) {
    return insert_call(graph_, key, std::move(inputs), node_);
  }
  Value* named(const std::string& name) { return argument(*node_, name); }
  Value* number(int64_t value) { return graph_.constant(value); }
  Value* numbers(std::vector<int64_t> values) { return graph_.constant(std::move(values)); }
  Value* none() { return graph_.constant(c10::IValue(), c10::NoneType::get()); }
  Value* list(std::vector<Value*> elements) {
    Node* node = graph_.create(Opcode::kListConstruct, std::move(elements));
    node->source = node_->source;
    graph_.add_output(node, c10::ListType::ofInts());
    graph_.insert_before(node_, node);
    return node->output();
  }

  Value* linear(Value* x, const std::string& weight, const std::string& bias) {
    return call("aten::linear", {x, named(weight), named(bias)});
  }
  Value* add(Value* a, Value* b) { return call("aten::add.Tensor", {a, b, number(1)}); }
  Value* norm(Value* x, int64_t width, const std::string& which) {
    return call("aten::layer_norm", {x, numbers({width}), named("norm_weight_" + which), named("norm_bias_" + which),
                                     named("eps"), graph_.constant(true)});
  }
  Value* feed_forward(Value* x) {
    Value* const inner = linear(x, "ffn_weight_1", "ffn_bias_1");
    Value* const active = constant_of(named("use_gelu"))->toBool()
                              ? call("aten::gelu", {inner, graph_.constant(std::string("none"))})
                              : call("aten::relu", {inner});
    return linear(active, "ffn_weight_2", "ffn_bias_2");
  }

  // [batch, steps, width] of the same sizes.
  Value* attention(Value* x, const Heads& heads) {
    Value *const batch = call("aten::size.int", {x, number(0)}), *const steps = call("aten::size.int", {x, number(1)});
    Value* const each = number(heads.width / heads.count);
    Value* const projected = linear(x, "qkv_weight", "qkv_bias");
    Value* const by_heads =
        call("aten::reshape", {projected, list({batch, steps, number(3), number(heads.count), each})});
    Value* const parts =
        call("aten::unbind.int", {call("aten::permute", {by_heads, numbers({2, 0, 3, 1, 4})}), number(0)});
    const std::array<Value*, 3> qkv = unpack(parts);
    Value* const attended = is_none(*node_, "mask") ? call("aten::scaled_dot_product_attention",
                                                           {qkv[0], qkv[1], qkv[2], none(), graph_.constant(0.0),
                                                            graph_.constant(false), none(), graph_.constant(false)})
                                                    : masked_attention(qkv, mask(batch, steps, heads), heads);
    Value* const side_by_side = call("aten::transpose.int", {attended, number(1), number(2)});
    Value* const joined = call("aten::reshape", {side_by_side, list({batch, steps, number(heads.width)})});
    return linear(joined, "proj_weight", "proj_bias");
  }

  Value* mask(Value* batch, Value* steps, const Heads& heads) {
    const bool each_key = constant_of(named("mask_type"))->toInt() == kForEachKey;
    Value* const one = number(1);
    return call("aten::view", {named("mask"), each_key ? list({batch, one, one, steps})
                                                       : list({batch, number(heads.count), steps, steps})});
  }

  // Where the mask is true or not zero nothing is attended to. What attends to nothing becomes NaN, where attention has 0.
  Value* masked_attention(const std::array<Value*, 3>& qkv, Value* mask, const Heads& heads) {
    const double scale = 1 / std::sqrt(static_cast<double>(heads.width / heads.count));
    Value* const queries = call("aten::mul.Scalar", {qkv[0], graph_.constant(scale)});
    Value* const scores = call("aten::matmul", {queries, call("aten::transpose.int", {qkv[1], number(2), number(3)})});
    Value* const left_out = call("aten::ne.Scalar", {mask, number(0)});
    Value* const lowest = graph_.constant(-std::numeric_limits<double>::infinity());
    Value* const kept = call("aten::masked_fill.Scalar", {scores, left_out, lowest});
    return call("aten::matmul", {call("aten::softmax.int", {kept, number(3), none()}), qkv[2]});
  }

  std::array<Value*, 3> unpack(Value* three) {
    Node* node = graph_.create(Opcode::kListUnpack, {three});
    node->source = node_->source;
    std::array<Value*, 3> out{};
    for (Value*& element : out) element = graph_.add_output(node, c10::TensorType::get());
    graph_.insert_before(node_, node);
    return out;
  }

  Graph& graph_;
  Node* const node_;
};

}  // namespace

bool expand_transformer(Graph& graph) {
  if (makes_nested_tensors(graph)) return false;
  bool changed = false;
  for_each_node(graph.root(), [&](Node* node) {
    if (node->opcode == Opcode::kOperator) changed |= Expansion(graph, node).expand();
  });
  return changed;
}

}  // namespace stator
