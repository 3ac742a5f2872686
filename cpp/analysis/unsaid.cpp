#include "analysis/unsaid.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace stator {
namespace {

// Found by running every operator of torch.testing's op_db on its samples and comparing storages, and by reading ATen's composites;
// those LibTorch tags maybe_aliasing_or_mutating are among them.
constexpr std::array<std::string_view, 32> kMayReturnArgument{
    "aten::_cast_Byte",
    "aten::_cast_Char",
    "aten::_cast_Double",
    "aten::_cast_Float",
    "aten::_cast_Half",
    "aten::_cast_Int",
    "aten::_cast_Long",
    "aten::_cast_Short",
    "aten::_to_cpu",
    "aten::alpha_dropout",
    "aten::atleast_1d",
    "aten::atleast_2d",
    "aten::atleast_3d",
    "aten::broadcast_tensors",
    "aten::cartesian_prod",
    "aten::chain_matmul",
    "aten::conj_physical",
    "aten::dequantize",
    "aten::dropout",
    "aten::einsum",
    "aten::feature_alpha_dropout",
    "aten::feature_dropout",
    "aten::histogramdd",
    "aten::meshgrid",
    "aten::sum_to_size",
    "aten::to_dense",
    "aten::type_as",
    "aten::unsafe_chunk",
    "aten::unsafe_split",
    "aten::unsafe_split_with_sizes",
    "prim::unchecked_cast",
    "prim::unchecked_unwrap_optional",
};

constexpr std::array<std::string_view, 10> kMayCopy{
    "aten::contiguous", "aten::cpu",        "aten::flatten",      "aten::pin_memory",  "aten::ravel",
    "aten::reshape",    "aten::reshape_as", "aten::resolve_conj", "aten::resolve_neg", "aten::to",
};

constexpr std::array<std::string_view, 6> kNormalisations{
    "aten::_batch_norm_impl_index", "aten::batch_norm",        "aten::cudnn_batch_norm",
    "aten::instance_norm",          "aten::miopen_batch_norm", "aten::native_batch_norm",
};

const c10::IValue* constant_argument(const Node& node, const char* name) {
  auto index = node.op->schema.argumentIndexWithName(name);
  return index && static_cast<size_t>(*index) < node.inputs.size() ? constant_of(node.inputs[*index]) : nullptr;
}

bool is_false(const c10::IValue* constant) { return constant && constant->isBool() && !constant->toBool(); }

}  // namespace

bool may_return_argument(const Operator& op) {
  return std::binary_search(kMayReturnArgument.begin(), kMayReturnArgument.end(), op.name);
}

bool may_copy(const Operator& op) { return std::binary_search(kMayCopy.begin(), kMayCopy.end(), op.name); }

bool takes_memory(const Operator& op) { return op.name == "aten::set_" || op.name == "aten::set_data"; }

bool is_opaque(const Operator& op) {
  return op.schema.aliasAnalysis() == c10::AliasAnalysisKind::CONSERVATIVE && !op.name.starts_with("aten::");
}

bool writes_statistics(const Node& node) {
  if (node.opcode != Opcode::kOperator) return false;
  if (std::find(kNormalisations.begin(), kNormalisations.end(), node.op->name) == kNormalisations.end()) return false;
  const c10::IValue* mean = constant_argument(node, "running_mean");
  if (mean && mean->isNone()) return false;
  return !is_false(constant_argument(node, "training")) && !is_false(constant_argument(node, "use_input_stats"));
}

}  // namespace stator
