#include "analysis/aliases.h"

#include <algorithm>
#include <iterator>

#include "analysis/unsaid.h"

namespace stator {

bool contains(const LocationSet& set, LocationId location) {
  return std::binary_search(set.begin(), set.end(), location);
}

bool may_alias(const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::ComplexType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::NumberType:
    case c10::TypeKind::StringType:
    case c10::TypeKind::NoneType:
    case c10::TypeKind::DeviceObjType:
    case c10::TypeKind::EnumType:
    case c10::TypeKind::SymIntType:
    case c10::TypeKind::SymFloatType:
    case c10::TypeKind::SymBoolType:
      return false;
    case c10::TypeKind::OptionalType:
      return may_alias(type->expectRef<c10::OptionalType>().getElementType());
    case c10::TypeKind::TupleType: {
      const auto& elements = type->expectRef<c10::TupleType>().elements();
      return std::any_of(elements.begin(), elements.end(), [](const c10::TypePtr& t) { return may_alias(t); });
    }
    default:
      return true;  // tensors, lists, dicts, objects, Any, type variables
  }
}

Aliases::Aliases(const Graph& graph) : points_to_(graph.value_count()), made_by_(graph.value_count(), -1) {
  for (const Value* input : graph.inputs()) {
    if (may_alias(input->type)) {
      LocationId location = locate(input, Location::Kind::kInput);
      merge(points_to_[input->id], {location});
    }
  }
  do {
    changed_ = false;
    visit(graph.root());
  } while (changed_);
}

namespace {

bool unite(LocationSet& into, const LocationSet& from) {
  if (from.empty() || std::includes(into.begin(), into.end(), from.begin(), from.end())) return false;
  LocationSet both;
  std::set_union(into.begin(), into.end(), from.begin(), from.end(), std::back_inserter(both));
  into = std::move(both);
  return true;
}

}  // namespace

void Aliases::merge(LocationSet& into, const LocationSet& from) {
  if (unite(into, from)) changed_ = true;
}

// What comes from outside (inputs, constants, state) is one location that contains itself: its inner structure is not told apart.
LocationId Aliases::locate(const Value* value, Location::Kind kind) {
  if (made_by_[value->id] >= 0) return made_by_[value->id];
  auto id = static_cast<LocationId>(locations_.size());
  locations_.push_back({kind, value});
  contents_.emplace_back();
  if (kind != Location::Kind::kFresh) contents_[id] = {id};
  made_by_[value->id] = id;
  return id;
}

LocationId Aliases::locate_state(int64_t slot, const Value* value) {
  for (auto& [known, id] : state_locations_) {
    if (known == slot) return id;
  }
  auto id = static_cast<LocationId>(locations_.size());
  locations_.push_back({Location::Kind::kState, value, slot});
  contents_.push_back({id});
  state_locations_.emplace_back(slot, id);
  return id;
}

LocationSet Aliases::reach(const LocationSet& from) const {
  LocationSet out = from;
  for (size_t i = 0; i < out.size(); ++i) {
    for (LocationId inner : contents_[out[i]]) {
      if (std::find(out.begin(), out.end(), inner) == out.end()) out.push_back(inner);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

LocationSet Aliases::reach(const Value* value) const { return reach(points_to_[value->id]); }

void Aliases::flow(const LocationSet& from, const Value* to) {
  if (may_alias(to->type)) merge(points_to_[to->id], from);
}

void Aliases::flow(const Value* from, const Value* to) { flow(points_to_[from->id], to); }

void Aliases::load(const Value* container, const Value* to) {
  for (LocationId location : LocationSet(points_to_[container->id])) flow(contents_[location], to);
}

void Aliases::store(const LocationSet& what, const Value* container) {
  for (LocationId location : LocationSet(points_to_[container->id])) merge(contents_[location], what);
}

void Aliases::write(const Value* value) {
  for (LocationId location : points_to_[value->id]) {
    locations_[location].written = true;
  }
}

void Aliases::visit(const Block& block) {
  for (const Node* node : block.nodes) visit(*node);
}

void Aliases::visit(const Node& node) {
  switch (node.opcode) {
    case Opcode::kOperator:
      return visit_operator(node);
    case Opcode::kConstant:
      if (may_alias(node.output()->type))
        merge(points_to_[node.output()->id], {locate(node.output(), Location::Kind::kConstant)});
      return;
    case Opcode::kIf:
      for (const Block* block : node.blocks) {
        visit(*block);
        for (size_t i = 0; i < node.outputs.size(); ++i) flow(block->results[i], node.output(i));
      }
      return;
    case Opcode::kLoop: {
      const Block& body = *node.blocks[0];
      for (size_t i = 0; i < node.outputs.size(); ++i) flow(node.input(i + 2), body.params[i + 1]);
      visit(body);
      for (size_t i = 0; i < node.outputs.size(); ++i) {
        flow(body.results[i + 1], body.params[i + 1]);
        flow(body.params[i + 1], node.output(i));
      }
      return;
    }
    case Opcode::kFork: {
      const Block& body = *node.blocks[0];
      for (size_t i = 0; i < node.inputs.size(); ++i) flow(node.input(i), body.params[i]);
      visit(body);
      merge(points_to_[node.output()->id], {locate(node.output(), Location::Kind::kFresh)});
      store(points_to_[body.results[0]->id], node.output());
      return;
    }
    case Opcode::kListConstruct:
    case Opcode::kTupleConstruct:
    case Opcode::kDictConstruct:
      if (may_alias(node.output()->type)) {
        merge(points_to_[node.output()->id], {locate(node.output(), Location::Kind::kFresh)});
        for (const Value* input : node.inputs) store(points_to_[input->id], node.output());
      }
      return;
    case Opcode::kListUnpack:
    case Opcode::kTupleUnpack:
    case Opcode::kTupleIndex:
    case Opcode::kGetAttr:
    case Opcode::kWait:
      for (const Value* output : node.outputs) load(node.input(), output);
      return;
    case Opcode::kSetAttr:
      store(points_to_[node.input(1)->id], node.input(0));
      write(node.input(0));
      return;
    case Opcode::kCreateObject:
    case Opcode::kVarCat:
    case Opcode::kVarStack:
      merge(points_to_[node.output()->id], {locate(node.output(), Location::Kind::kFresh)});
      return;
    case Opcode::kCallMethod:
      return visit_opaque(node);
    case Opcode::kLoadState: {
      LocationId location = locate_state(node.index, node.output());
      flow(LocationSet{location}, node.output());
      for (auto& [slot, value] : state_stores_) {
        if (slot == node.index) flow(value, node.output());
      }
      return;
    }
    case Opcode::kStoreState: {
      std::pair<int64_t, const Value*> entry{node.index, node.input()};
      if (std::find(state_stores_.begin(), state_stores_.end(), entry) == state_stores_.end()) {
        state_stores_.push_back(entry);
        changed_ = true;
      }
      return;
    }
    case Opcode::kRaise:
    case Opcode::kUninitialized:
    case Opcode::kIsInstance:
      return;
  }
}

// The schema's annotations say what a result shares with the arguments, what is written, and (after "->") where an argument is put.
void Aliases::visit_operator(const Node& node) {
  if (is_opaque(*node.op)) return visit_opaque(node);
  const auto& arguments = node.op->schema.arguments();
  const auto& returns = node.op->schema.returns();

  const auto annotation = [&](size_t i) { return i < arguments.size() ? arguments[i].alias_info() : nullptr; };
  const auto is_container = [](const Value* value) {
    auto kind = value->type->kind();
    return kind != c10::TypeKind::TensorType && may_alias(value->type);
  };

  LocationSet everything;  // all that the arguments reach; for wildcards
  for (const Value* input : node.inputs) unite(everything, reach(input));

  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const auto* info = annotation(i);
    if (!info) continue;
    if (info->isWrite()) write(node.input(i));
    if (std::any_of(info->containedTypes().begin(), info->containedTypes().end(),
                    [](const c10::AliasInfo& a) { return a.isWrite(); })) {
      for (LocationId location : reach(node.input(i))) locations_[location].written = true;
    }
    bool put_elsewhere = std::any_of(info->afterSets().begin(), info->afterSets().end(),
                                     [](const c10::Symbol& s) { return s == c10::AliasInfo::wildcardSet(); });
    if (!put_elsewhere) continue;
    for (size_t j = 0; j < node.inputs.size(); ++j) {
      const auto* other = annotation(j);
      if (other && other->isWrite() && j != i) store(points_to_[node.input(i)->id], node.input(j));
    }
  }

  // TorchScript's extend, update and += put the elements of one container into another without saying so.
  if (!node.op->in_dispatcher()) {
    for (size_t j = 0; j < node.inputs.size(); ++j) {
      const auto* into = annotation(j);
      if (!into || !into->isWrite()) continue;
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (i == j) continue;
        for (LocationId location : points_to_[node.input(i)->id])
          store(LocationSet(contents_[location]), node.input(j));
      }
    }
  }
  if (takes_memory(*node.op) && node.inputs.size() > 1) store(points_to_[node.input(1)->id], node.input(0));
  if (writes_statistics(node)) {
    for (const Value* input : node.inputs) write(input);
  }

  for (size_t r = 0; r < node.outputs.size(); ++r) {
    const Value* output = node.output(r);
    if (!may_alias(output->type)) continue;
    const auto* info = r < returns.size() ? returns[r].alias_info() : nullptr;
    bool outer = false;  // the result itself is shared
    bool inner = false;  // its elements are
    LocationSet elements;
    if (info) {
      const auto shares = [&](const c10::AliasInfo& mine) {
        LocationSet shared;
        for (const c10::Symbol& set : mine.beforeSets()) {
          if (set == c10::AliasInfo::wildcardSet()) {
            unite(shared, everything);
            continue;
          }
          for (size_t i = 0; i < node.inputs.size(); ++i) {
            const auto* theirs = annotation(i);
            if (theirs && theirs->beforeSets().count(set)) unite(shared, points_to_[node.input(i)->id]);
            if (theirs && !theirs->containedTypes().empty()) {
              for (const auto& contained : theirs->containedTypes()) {
                if (contained.beforeSets().count(set)) {
                  for (LocationId location : points_to_[node.input(i)->id]) unite(shared, contents_[location]);
                }
              }
            }
          }
        }
        return shared;
      };
      if (!info->beforeSets().empty()) {
        outer = true;
        flow(shares(*info), output);
      }
      for (const auto& contained : info->containedTypes()) {
        if (contained.beforeSets().empty()) continue;
        inner = true;
        unite(elements, shares(contained));
      }
    }
    if (!info && may_return_argument(*node.op)) {
      flow(everything, output);
      inner = true;
      unite(elements, everything);
    }
    if (!outer || may_copy(*node.op)) {
      merge(points_to_[output->id], {locate(output, Location::Kind::kFresh)});
      LocationId location = made_by_[output->id];
      if (is_container(output)) {
        // List and dict operators of TorchScript copy the container, not its elements, and have no annotation for that.
        if (inner) merge(contents_[location], elements);
        else if (!node.op->in_dispatcher()) merge(contents_[location], everything);
        else merge(contents_[location], {location});
      }
    }
  }
}

// A method of an object that is only known at run time, or an operator without a word: anything it can reach may be written, kept and returned.
void Aliases::visit_opaque(const Node& node) {
  LocationSet everything;
  for (const Value* input : node.inputs) unite(everything, reach(input));
  for (LocationId location : everything) {
    locations_[location].written = true;
    merge(contents_[location], everything);
  }
  for (const Value* output : node.outputs) {
    if (!may_alias(output->type)) continue;
    LocationId made = locate(output, Location::Kind::kFresh);
    merge(contents_[made], {made});
    merge(contents_[made], everything);
    merge(points_to_[output->id], {made});
    flow(everything, output);
  }
}

}  // namespace stator
