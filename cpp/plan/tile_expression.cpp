#include "plan/tile_expression.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "plan/parts.h"

namespace stator {
namespace {

struct TileDtypeEntry {
  at::ScalarType scalar;
  TileDtype tile;
  TileType type;
};

constexpr TileDtypeEntry kDtypes[] = {
    {at::kFloat, TileDtype::kFloat, TileType::kFloat},       {at::kDouble, TileDtype::kDouble, TileType::kDouble},
    {at::kBFloat16, TileDtype::kBFloat16, TileType::kFloat}, {at::kHalf, TileDtype::kHalf, TileType::kFloat},
    {at::kBool, TileDtype::kBool, TileType::kFloat},         {at::kLong, TileDtype::kInt64, TileType::kInt},
    {at::kInt, TileDtype::kInt32, TileType::kInt},           {at::kShort, TileDtype::kInt16, TileType::kInt},
    {at::kChar, TileDtype::kInt8, TileType::kInt},           {at::kByte, TileDtype::kUint8, TileType::kInt},
};

const TileDtypeEntry* find(at::ScalarType dtype) {
  for (const TileDtypeEntry& entry : kDtypes) {
    if (entry.scalar == dtype) return &entry;
  }
  return nullptr;
}

TileType result_type(TileOpcode code, TileType inputs) {
  if (code == TileOpcode::kToFloat || code == TileOpcode::kToBool) return TileType::kFloat;
  if (code == TileOpcode::kToDouble) return TileType::kDouble;
  if (code == TileOpcode::kToInt) return TileType::kInt;
  if (code >= TileOpcode::kEqual && code <= TileOpcode::kNot) return TileType::kFloat;
  return inputs;
}

}  // namespace

std::optional<TileType> tile_type(at::ScalarType dtype) {
  const TileDtypeEntry* entry = find(dtype);
  return entry ? std::optional(entry->type) : std::nullopt;
}

TileExpression::TileExpression(at::IntArrayRef sizes) : sizes_(sizes) {}

TileExpression::Node TileExpression::load(const TensorView& view) {
  NodeData node{.kind = NodeData::Kind::kLoad, .type = find(view.meta.dtype)->type, .view = view};
  const size_t missing = sizes_.size() - view.meta.sizes.size();
  node.view.meta.sizes = sizes_;
  node.view.meta.strides.assign(sizes_.size(), 0);
  for (size_t d = 0; d < view.meta.sizes.size(); ++d) {
    if (view.meta.sizes[d] == sizes_[missing + d]) node.view.meta.strides[missing + d] = view.meta.strides[d];
  }
  for (size_t d = 0; d < sizes_.size(); ++d) {
    if (sizes_[d] == 1) node.view.meta.strides[d] = 0;
  }
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].kind == NodeData::Kind::kLoad && nodes_[i].view == node.view) return static_cast<Node>(i);
  }
  nodes_.push_back(std::move(node));
  return static_cast<Node>(nodes_.size()) - 1;
}

TileExpression::Node TileExpression::number(double value, TileType type) {
  nodes_.push_back(
      {.kind = NodeData::Kind::kNumber, .type = type, .real = value, .integer = static_cast<int64_t>(value)});
  return static_cast<Node>(nodes_.size()) - 1;
}

TileExpression::Node TileExpression::number(int64_t value, TileType type) {
  nodes_.push_back(
      {.kind = NodeData::Kind::kNumber, .type = type, .real = static_cast<double>(value), .integer = value});
  return static_cast<Node>(nodes_.size()) - 1;
}

TileExpression::Node TileExpression::op(TileOpcode code, Node a, Node b, Node c) {
  // where's condition is a bool; what it chooses from says of what type it is.
  const TileType type = nodes_[code == TileOpcode::kWhere ? b : a].type;
  NodeData node{.kind = NodeData::Kind::kOp, .type = result_type(code, type), .code = code};
  node.inputs[0] = a, node.inputs[1] = b, node.inputs[2] = c;
  nodes_.push_back(std::move(node));
  return static_cast<Node>(nodes_.size()) - 1;
}

TileExpression::Node TileExpression::cast(Node node, at::ScalarType from, at::ScalarType to) {
  if (from == to) return node;
  const TileType source = find(from)->type, target = find(to)->type;
  if (to == at::kBool) return op(TileOpcode::kToBool, node);
  if (source != target) {
    constexpr TileOpcode to_type[] = {TileOpcode::kToFloat, TileOpcode::kToDouble, TileOpcode::kToInt};
    node = op(to_type[static_cast<int>(target)], node);
    if (to == at::kInt || to == at::kShort || to == at::kChar) node = as_converted_to_32(node);
  }
  const bool exact = from == at::kBool || c10::promoteTypes(from, to) == to;
  const bool same_kind = source == target;
  return exact && same_kind ? node : rounded(node, to);
}

// CPUs convert floats to integers of 32 bits and then, if narrower ones are wanted, take the low bits: what does not fit is the least number.
TileExpression::Node TileExpression::as_converted_to_32(Node node) {
  const Node fits = op(TileOpcode::kEqual, node, op(TileOpcode::kWrapTo32, node));
  return op(TileOpcode::kWhere, fits, node, number(int64_t{std::numeric_limits<int32_t>::min()}, TileType::kInt));
}

TileExpression::Node TileExpression::rounded(Node node, at::ScalarType dtype) {
  switch (dtype) {
    case at::kBFloat16:
      return op(TileOpcode::kRoundToBFloat16, node);
    case at::kHalf:
      return op(TileOpcode::kRoundToHalf, node);
    case at::kInt:
      return op(TileOpcode::kWrapTo32, node);
    case at::kShort:
      return op(TileOpcode::kWrapTo16, node);
    case at::kChar:
      return op(TileOpcode::kWrapTo8, node);
    case at::kByte:
      return op(TileOpcode::kWrapToUnsigned8, node);
    default:
      return node;
  }
}

void TileExpression::store(Node node, const TensorView& to) { stores_.push_back({node, to}); }

std::vector<TensorView> TileExpression::reads() const {
  std::vector<TensorView> out;
  for (const NodeData& node : nodes_) {
    if (node.kind == NodeData::Kind::kLoad) out.push_back(node.view);
  }
  return out;
}

std::vector<TensorView> TileExpression::writes() const {
  std::vector<TensorView> out;
  for (const Store& store : stores_) out.push_back(store.to);
  return out;
}

bool TileExpression::hands_on(const Store& store, const TensorView& load) const {
  if (store.to.offset != load.offset || store.to.meta.dtype != load.meta.dtype) return false;
  for (size_t d = 0; d < sizes_.size(); ++d) {
    if (sizes_[d] != 1 && store.to.meta.strides[d] != load.meta.strides[d]) return false;
  }
  return true;
}

bool TileExpression::join(const TileExpression& other) {
  std::vector<Node> handed(other.nodes_.size(), -1);
  for (size_t i = 0; i < other.nodes_.size(); ++i) {
    if (other.nodes_[i].kind != NodeData::Kind::kLoad) continue;
    bool stored_here = false;
    for (const Store& store : stores_) {
      if (store.to.buffer != other.nodes_[i].view.buffer) continue;
      stored_here = true;
      if (hands_on(store, other.nodes_[i].view)) handed[i] = store.node;
    }
    if (stored_here && handed[i] < 0) return false;
  }
  std::vector<Node> moved(other.nodes_.size());
  for (size_t i = 0; i < other.nodes_.size(); ++i) {
    NodeData node = other.nodes_[i];
    if (node.kind == NodeData::Kind::kLoad) {
      moved[i] = handed[i] >= 0 ? handed[i] : load(node.view);
      continue;
    }
    for (Node& input : node.inputs) input = input < 0 ? -1 : moved[input];
    nodes_.push_back(std::move(node));
    moved[i] = static_cast<Node>(nodes_.size()) - 1;
  }
  for (const Store& store : other.stores_) stores_.push_back({moved[store.node], store.to});
  return true;
}

std::optional<TileExpression::Transfer> TileExpression::as_transfer() const {
  if (stores_.size() != 1) return std::nullopt;
  Transfer transfer{.from = {}, .to = stores_[0].to};
  const NodeData* made = &nodes_[stores_[0].node];
  while (made->kind == NodeData::Kind::kOp) {
    made = made->code == TileOpcode::kAdd ? added_by(*made, transfer) : clamped_by(*made, transfer);
    if (!made) return std::nullopt;
  }
  if (made->kind != NodeData::Kind::kLoad || made->view.meta.dtype != transfer.to.meta.dtype) return std::nullopt;
  transfer.from = made->view;
  return transfer;
}

// What the operation adds the addend to: that is what the other one is as well. NULL: it adds something else.
const TileExpression::NodeData* TileExpression::added_by(const NodeData& op, Transfer& transfer) const {
  const auto is_plain = [](const NodeData& node) {
    return node.kind == NodeData::Kind::kLoad && node.view.meta.dtype == at::kFloat;
  };
  const NodeData &to = nodes_[op.inputs[0]], &addend = nodes_[op.inputs[1]];
  if (op.type != TileType::kFloat || !is_plain(to) || !is_plain(addend)) return nullptr;
  transfer.addend = addend.view;
  return &to;
}

// What the operation bounds; the bounds of `transfer`, which come after it, are then its own as well. NULL: it does something else.
const TileExpression::NodeData* TileExpression::clamped_by(const NodeData& op, Transfer& transfer) const {
  if (op.type != TileType::kFloat) return nullptr;
  if (op.code == TileOpcode::kRelu) {
    transfer.least = std::max(transfer.least, 0.0f);
    return &nodes_[op.inputs[0]];
  }
  const auto bound = [&](int input) { return static_cast<float>(nodes_[op.inputs[input]].real); };
  if (op.code == TileOpcode::kClampMax || op.code == TileOpcode::kClamp) {
    const float most = bound(op.code == TileOpcode::kClamp ? 2 : 1);
    if (most < transfer.least) return nullptr;  // all would be `least`
    transfer.most = std::min(transfer.most, most);
  } else if (op.code != TileOpcode::kClampMin) {
    return nullptr;
  }
  if (op.code != TileOpcode::kClampMax) transfer.least = std::max(transfer.least, bound(1));
  return &nodes_[op.inputs[0]];
}

bool TileExpression::stores_zeros() const {
  return std::all_of(stores_.begin(), stores_.end(), [&](const Store& store) {
    const NodeData& made = nodes_[store.node];
    return made.kind == NodeData::Kind::kNumber && made.real == 0 && made.integer == 0;
  });
}

bool TileExpression::loads_only(const TensorView& view) const {
  return std::all_of(nodes_.begin(), nodes_.end(), [&](const NodeData& node) {
    return node.kind != NodeData::Kind::kLoad || node.view.buffer != view.buffer || node.view == view;
  });
}

void TileExpression::load_elsewhere(const TensorView& from, const TensorView& to) {
  for (NodeData& node : nodes_) {
    if (node.kind != NodeData::Kind::kLoad || node.view != from) continue;
    node.view.buffer = to.buffer;
    node.view.offset = to.offset;
    for (size_t d = 0; d < sizes_.size(); ++d) {
      if (sizes_[d] != 1) node.view.meta.strides[d] = to.meta.strides[d];
    }
  }
}

void TileExpression::store_elsewhere(BufferId buffer, const TensorView& place) {
  for (Store& store : stores_) {
    if (store.to.buffer == buffer) store.to = place;
  }
}

// One use: lays an expression out as a program.
class TileCompiler {
 public:
  using NodeData = TileExpression::NodeData;
  using Store = TileExpression::Store;

  TileCompiler(const TileExpression& expression, int threads)
      : expression_(expression),
        threads_(threads),
        nodes_(expression.nodes_),
        out_(std::make_shared<TileSpecification>()) {}

  std::shared_ptr<const TileSpecification> compile() {
    find_used();
    join_pairs();
    copy_stored_loads();
    if (!lay_out_dimensions()) return nullptr;
    add_walks();
    find_repeating();
    if (!add_numbers() || !assign_registers()) return nullptr;
    finish();
    return out_;
  }

 private:
  // What a store needs.
  void find_used() {
    last_use_.assign(nodes_.size(), -1);
    const auto end = static_cast<int32_t>(nodes_.size());
    for (const Store& store : expression_.stores_) last_use_[store.node] = end;
    for (int32_t i = end - 1; i >= 0; --i) {
      if (last_use_[i] < 0 || nodes_[i].kind != NodeData::Kind::kOp) continue;
      for (int32_t input : nodes_[i].inputs) last_use_[input] = std::max(last_use_[input], i);
    }
    stores_ = expression_.stores_;
  }

  static std::optional<TileOpcode> pair_of(TileOpcode first, TileOpcode second) {
    using O = TileOpcode;
    if (second == O::kAdd && first == O::kAdd) return O::kAddAdd;
    if (second != O::kMul) return std::nullopt;
    if (first == O::kAdd) return O::kAddMul;
    if (first == O::kSub) return O::kSubMul;
    return first == O::kMul ? std::optional(O::kMulMul) : std::nullopt;
  }

  // Two operators that follow one another are one where nothing else wants what the first makes: its tile is neither written nor read. Not where
  // an input is one element for all, which the first takes as it is.
  void join_pairs() {
    int32_t before = -1;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (last_use_[i] < 0 || nodes_[i].kind != NodeData::Kind::kOp) continue;
      NodeData& node = nodes_[i];
      const auto at = static_cast<int32_t>(i), first = std::exchange(before, at);
      if (first < 0 || last_use_[first] != at || node.type == TileType::kInt) continue;
      const bool is_first = node.inputs[0] == first, is_second = node.inputs[1] == first;
      const std::optional<TileOpcode> joined = pair_of(nodes_[first].code, node.code);
      if (!joined || is_first == is_second) continue;
      const int32_t inputs[] = {nodes_[first].inputs[0], nodes_[first].inputs[1], node.inputs[is_first ? 1 : 0]};
      if (std::any_of(std::begin(inputs), std::end(inputs), [&](int32_t input) { return is_one_for_all(input); }))
        continue;
      node.code = *joined;
      std::copy(std::begin(inputs), std::end(inputs), node.inputs);
      for (int32_t input : inputs) last_use_[input] = std::max(last_use_[input], at);
      last_use_[first] = -1;
    }
  }

  bool is_one_for_all(int32_t node) const {
    const NodeData& data = nodes_[node];
    if (data.kind == NodeData::Kind::kNumber) return true;
    const at::DimVector& strides = data.view.meta.strides;
    return data.kind == NodeData::Kind::kLoad &&
           std::all_of(strides.begin(), strides.end(), [](int64_t s) { return s == 0; });
  }

  // What is stored comes from an operator, so that it has a register of its own; likewise what is stored twice.
  void copy_stored_loads() {
    std::vector<bool> stored(nodes_.size());
    for (Store& store : stores_) {
      const NodeData::Kind kind = nodes_[store.node].kind;
      if (kind == NodeData::Kind::kOp && !stored[store.node]) {
        stored[store.node] = true;
        continue;
      }
      NodeData copy{.kind = NodeData::Kind::kOp, .type = nodes_[store.node].type, .code = TileOpcode::kCopy};
      for (int32_t& input : copy.inputs) input = store.node;
      last_use_[store.node] = std::max(last_use_[store.node], static_cast<int32_t>(nodes_.size()));
      nodes_.push_back(std::move(copy));
      store.node = static_cast<int32_t>(nodes_.size()) - 1;
      last_use_.push_back(store.node);
      stored.push_back(true);
    }
    for (Store& store : stores_) last_use_[store.node] = static_cast<int32_t>(nodes_.size());
  }

  const TensorMeta& walk_meta(size_t i) const {
    return i < loaded_.size() ? nodes_[loaded_[i]].view.meta : stores_[i - loaded_.size()].to.meta;
  }
  size_t walk_count() const { return loaded_.size() + stores_.size(); }

  // Dimensions by the first store's steps, largest first; those that run on from one another for all become one.
  bool lay_out_dimensions() {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].kind == NodeData::Kind::kLoad && last_use_[i] >= 0) loaded_.push_back(static_cast<int32_t>(i));
    }
    const at::DimVector& sizes = expression_.sizes_;
    const auto& order_by = stores_[0].to.meta.strides;
    std::vector<size_t> dims;
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d] != 1) dims.push_back(d);
    }
    std::stable_sort(dims.begin(), dims.end(), [&](size_t a, size_t b) { return order_by[a] > order_by[b]; });
    for (size_t d : dims) {
      const auto runs_on = [&](size_t outer) {
        for (size_t i = 0; i < walk_count(); ++i) {
          const at::DimVector& strides = walk_meta(i).strides;
          if (strides[outer] != strides[d] * sizes[d]) return false;
        }
        return true;
      };
      if (!dims_.empty() && runs_on(dims_.back())) {
        sizes_.back() *= sizes[d];
        dims_.back() = d;
      } else {
        dims_.push_back(d);
        sizes_.push_back(sizes[d]);
      }
    }
    if (sizes_.empty()) sizes_.push_back(1);
    // Where rows are long, inputs are read in place; short ones are gathered into tiles that cross them.
    by_rows_ = sizes_.size() > 1 && sizes_.back() >= kTileElements / 4;
    return sizes_.size() <= kMostTileDims;
  }

  TileWalk walk(const TensorMeta& meta) const {
    TileWalk out{};
    out.dtype = find(meta.dtype)->tile;
    const int64_t bytes = meta.itemsize();
    out.scalar = true;
    int64_t expected = 1;
    bool contiguous = true;
    for (size_t i = dims_.size(); i-- > 0;) {
      const int64_t stride = meta.strides[dims_[i]];
      out.strides[i] = stride * bytes;
      out.scalar &= stride == 0;
      contiguous &= stride == expected;
      expected *= sizes_[i];
    }
    const bool converts = meta.dtype != at::kFloat && meta.dtype != at::kDouble && meta.dtype != at::kLong;
    const bool steps_by_one = dims_.empty() || (by_rows_ ? meta.strides[dims_.back()] == 1 : contiguous);
    out.in_place = !converts && (out.scalar || steps_by_one);
    return out;
  }

  void add_walks() {
    for (int32_t node : loaded_) {
      out_->loads.push_back(walk(nodes_[node].view.meta));
      out_->read.push_back(nodes_[node].view);
      // Without dimensions there is one element, and nothing to walk.
      if (dims_.empty()) out_->loads.back().scalar = true;
    }
    for (const Store& store : stores_) {
      out_->stores.push_back(walk(store.to.meta));
      out_->stores.back().scalar = false;
      out_->written.push_back(store.to);
    }
  }

  // Inputs that are the same for all of the outer dimensions: the fewest of these that leave no more than a tile. A tile of whole periods needs
  // no filling of their registers but the first one. A few, so that registers are left for operators.
  void find_repeating() {
    out_->program.tile_elements = kTileElements;
    if (by_rows_ || c10::multiply_integers(sizes_) <= kTileElements) return;
    size_t outer = sizes_.size();
    int64_t period = 1;
    while (outer > 0 && period * sizes_[outer - 1] <= kTileElements) period *= sizes_[--outer];
    int kept = 0;
    for (TileWalk& walk : out_->loads) {
      walk.repeats = !walk.scalar && !walk.in_place && kept < kTilesOfOwn / 4 &&
                     std::all_of(walk.strides, walk.strides + outer, [](int64_t stride) { return stride == 0; });
      kept += walk.repeats;
    }
    if (kept > 0) out_->program.tile_elements = static_cast<int32_t>(kTileElements / period * period);
  }

  bool only_scalar_uses(int32_t node) const {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].kind != NodeData::Kind::kOp || last_use_[i] < 0) continue;
      const NodeData& user = nodes_[i];
      const bool takes = takes_scalars(user.code, nodes_[user.inputs[0]].type);
      for (int32_t input : user.inputs) {
        if (input == node && !takes) return false;
      }
    }
    return true;
  }

  int own_tile() {
    for (int r = 0; r < kTilesOfOwn; ++r) {
      if (!busy_[r]) {
        busy_[r] = true;
        return r;
      }
    }
    return -1;
  }
  int place_of_memory() { return next_place_ < kMostTileRegisters ? next_place_++ : -1; }

  // Numbers and scalars stay where they are for the whole program.
  bool add_numbers() {
    registers_.assign(nodes_.size(), -1);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (last_use_[i] < 0 || nodes_[i].kind != NodeData::Kind::kNumber) continue;
      TileConstant constant{};
      constant.type = nodes_[i].type;
      constant.scalar = only_scalar_uses(static_cast<int32_t>(i));
      if (constant.type == TileType::kFloat) constant.as_float = static_cast<float>(nodes_[i].real);
      if (constant.type == TileType::kDouble) constant.as_double = nodes_[i].real;
      if (constant.type == TileType::kInt) constant.as_int = nodes_[i].integer;
      registers_[i] = constant.scalar ? place_of_memory() : own_tile();
      if (registers_[i] < 0) return false;
      constant.reg = static_cast<uint8_t>(registers_[i]);
      if (constant.scalar) out_->program.scalars |= uint64_t{1} << constant.reg;
      out_->constants.push_back(constant);
    }
    for (size_t w = 0; w < loaded_.size(); ++w) {
      TileWalk& walk = out_->loads[w];
      if (!walk.scalar) continue;
      const bool as_scalar = only_scalar_uses(loaded_[w]);
      walk.in_place &= as_scalar;
      const int reg = walk.in_place ? place_of_memory() : own_tile();
      if (reg < 0) return false;
      registers_[loaded_[w]] = reg;
      walk.reg = static_cast<uint8_t>(reg);
      if (as_scalar) out_->program.scalars |= uint64_t{1} << reg;
    }
    return true;
  }

  bool load_registers() {
    for (size_t w = 0; w < loaded_.size(); ++w) {
      TileWalk& walk = out_->loads[w];
      if (walk.scalar) continue;
      const int reg = walk.in_place ? place_of_memory() : own_tile();
      if (reg < 0) return false;
      registers_[loaded_[w]] = reg;
      walk.reg = static_cast<uint8_t>(reg);
    }
    return true;
  }

  bool assign_registers() {
    if (!load_registers()) return false;
    std::vector<int32_t> direct(nodes_.size(), -1);
    for (size_t s = 0; s < stores_.size(); ++s) {
      if (out_->stores[s].in_place) direct[stores_[s].node] = static_cast<int32_t>(s);
    }
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (last_use_[i] < 0 || nodes_[i].kind != NodeData::Kind::kOp) continue;
      const int reg = direct[i] >= 0 ? place_of_memory() : own_tile();
      if (reg < 0) return false;
      registers_[i] = reg;
      add_op(nodes_[i], reg);
      free_inputs(static_cast<int32_t>(i));
    }
    for (size_t s = 0; s < stores_.size(); ++s) out_->stores[s].reg = static_cast<uint8_t>(registers_[stores_[s].node]);
    return true;
  }

  void add_op(const NodeData& node, int reg) {
    TileOp op{};
    op.code = node.code;
    op.type = nodes_[node.inputs[node.code == TileOpcode::kWhere ? 1 : 0]].type;
    op.out = static_cast<uint8_t>(reg);
    for (int k = 0; k < 3; ++k) op.inputs[k] = static_cast<uint8_t>(registers_[node.inputs[k]]);
    out_->ops.push_back(op);
  }

  void free_inputs(int32_t user) {
    for (int32_t input : nodes_[user].inputs) {
      const bool stays = nodes_[input].kind == NodeData::Kind::kNumber || is_load_that_stays(input);
      if (last_use_[input] == user && !stays && registers_[input] < kTilesOfOwn) busy_[registers_[input]] = false;
    }
  }

  // Others are filled anew for each tile, before the operators run, so a register is theirs until their last use.
  bool is_load_that_stays(int32_t node) const {
    for (size_t w = 0; w < loaded_.size(); ++w) {
      if (loaded_[w] == node) return out_->loads[w].scalar || out_->loads[w].repeats;
    }
    return false;
  }

  void finish() {
    TileProgram& program = out_->program;
    program.dims = static_cast<int32_t>(sizes_.size());
    std::copy(sizes_.begin(), sizes_.end(), program.sizes);
    program.by_rows = by_rows_;
    program.last_in_place = last_writes_runs();
    program.load_count = static_cast<int32_t>(out_->loads.size());
    program.store_count = static_cast<int32_t>(out_->stores.size());
    program.constant_count = static_cast<int32_t>(out_->constants.size());
    program.op_count = static_cast<int32_t>(out_->ops.size());
    program.loads = out_->loads.data();
    program.stores = out_->stores.data();
    program.constants = out_->constants.data();
    program.ops = out_->ops.data();
    program.parts = parts_of_work(nanoseconds(), threads_);
  }

  // The last operator makes nothing but what is stored last, as floats that lie side by side in the innermost dimension.
  bool last_writes_runs() const {
    const TileWalk& store = out_->stores.back();
    if (by_rows_ || store.in_place || out_->ops.empty()) return false;
    const TileOp& last = out_->ops.back();
    return store.reg == last.out && store.dtype == TileDtype::kFloat &&
           store.strides[sizes_.size() - 1] == sizeof(float) && last.type == TileType::kFloat;
  }

  // What one thread takes, about.
  double nanoseconds() const {
    double each = 0.1 * static_cast<double>(walk_count());
    for (const TileOp& op : out_->ops) each += is_function(op.code) ? 0.5 : 0.05;
    for (int64_t size : sizes_) each *= static_cast<double>(size);
    return each;
  }

  // No plain arithmetic.
  static bool is_function(TileOpcode code) {
    using O = TileOpcode;
    const auto among = [code](O first, O last) { return code >= first && code <= last; };
    return among(O::kExp, O::kSigmoid) || among(O::kErf, O::kMish) || among(O::kPow, O::kRemainder) ||
           among(O::kElu, O::kSoftplus);
  }

  const TileExpression& expression_;
  const int threads_;
  std::vector<NodeData> nodes_;
  std::vector<Store> stores_;
  std::shared_ptr<TileSpecification> out_;
  std::vector<int32_t> last_use_;  // -1: none
  std::vector<int32_t> loaded_;    // nodes, parallel to out_->loads
  std::vector<size_t> dims_;       // of the expression's, one for each of the program's
  std::vector<int64_t> sizes_;
  bool by_rows_ = false;
  std::vector<int32_t> registers_;  // by node
  bool busy_[kTilesOfOwn] = {};
  int next_place_ = kTilesOfOwn;
};

std::shared_ptr<const TileSpecification> TileExpression::compile(int threads) const {
  return TileCompiler(*this, threads).compile();
}

}  // namespace stator
