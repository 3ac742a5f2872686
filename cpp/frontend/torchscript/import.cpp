#include "frontend/torchscript/import.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <unordered_map>

namespace stator {
namespace {

namespace jit = torch::jit;
using ObjectPtr = c10::intrusive_ptr<c10::ivalue::Object>;

// Slots are made when first asked for, one per attribute of one object, so that a submodule reachable by two paths is one.
class SlotTable {
 public:
  explicit SlotTable(std::vector<StateSlot>& slots) : slots_(slots) {}

  void name_objects(const ObjectPtr& object, const std::string& path) {
    if (!paths_.emplace(object.get(), path).second) return;
    const auto& type = object->type();
    for (size_t i = 0; i < type->numAttributes(); ++i) {
      const c10::IValue value = object->getSlot(i);
      if (!value.isModule()) continue;
      name_objects(value.toObject(), path.empty() ? type->getAttributeName(i) : path + "." + type->getAttributeName(i));
    }
  }

  int64_t slot(const ObjectPtr& object, const std::string& attribute) {
    auto [it, added] = index_.try_emplace({object.get(), attribute}, static_cast<int64_t>(slots_.size()));
    if (added) {
      const std::string& path = paths_[object.get()];
      slots_.push_back({path.empty() ? attribute : path + "." + attribute, object->type()->getAttribute(attribute),
                        object->getAttr(attribute)});
    }
    return it->second;
  }

 private:
  struct Hash {
    size_t operator()(const std::pair<const void*, std::string>& key) const {
      return std::hash<const void*>()(key.first) * 31 + std::hash<std::string>()(key.second);
    }
  };
  std::vector<StateSlot>& slots_;
  std::unordered_map<std::pair<const void*, std::string>, int64_t, Hash> index_;
  std::unordered_map<const void*, std::string> paths_;
};

SourceLocation location_of(const jit::Node* node) {
  SourceLocation out;
  auto range = node->sourceRange();
  if (auto original = range.findSourceRangeThatGenerated()) range = *original;
  if (auto place = range.file_line_col()) {
    auto [file, line, column] = *place;
    auto slash = file.find_last_of('/');
    out.file = slash == std::string::npos ? file : file.substr(slash + 1);
    out.line = static_cast<int64_t>(line);
  }
  if (range.source()) {
    out.text = range.text().str();
    if (auto newline = out.text.find('\n'); newline != std::string::npos) out.text.resize(newline);
    constexpr size_t kLongest = 100;
    if (out.text.size() > kLongest) out.text.resize(kLongest);
  }
  return out;
}

[[noreturn]] void refuse(const jit::Node* node, const std::string& why) {
  throw Error(ErrorCode::kUnsupported, std::string(node->kind().toQualString()) + " " + why,
              {node->kind().toQualString(), "", location_of(node).str(), ""});
}

// Imports one method: walks TorchScript's graph and mirrors it.
class Importer {
 public:
  Importer(Graph& graph, SlotTable& slots) : graph_(graph), slots_(slots) {}

  void import_method(const ObjectPtr& self, const jit::Function& function) {
    auto source = inlined(function);
    objects_[source->inputs()[0]] = self;
    for (size_t i = 1; i < source->inputs().size(); ++i) {
      const jit::Value* input = source->inputs()[i];
      values_[input] = graph_.add_param(&graph_.root(), input->type(), function.getSchema().arguments()[i].name());
    }
    import_nodes(source->block(), &graph_.root());
    for (const jit::Value* output : source->outputs()) graph_.add_result(&graph_.root(), value(output, nullptr));
  }

 private:
  std::shared_ptr<jit::Graph> inlined(const jit::Function& function) {
    auto copy = jit::toGraphFunction(const_cast<jit::Function&>(function)).graph()->copy();
    jit::Inline(*copy);
    sources_.push_back(copy);  // the maps below are keyed by its values
    return copy;
  }

  Value* value(const jit::Value* v, const jit::Node* user) {
    auto found = values_.find(v);
    if (found != values_.end()) return found->second;
    if (objects_.count(v)) {
      const jit::Node* node = user ? user : v->node();
      refuse(node, "uses a submodule as a value, which is not supported");
    }
    throw Error(ErrorCode::kUnsupported, "a function is used as a value, which is not supported");
  }

  std::vector<Value*> values(at::ArrayRef<const jit::Value*> vs, const jit::Node* user) {
    std::vector<Value*> out;
    for (const jit::Value* v : vs) out.push_back(value(v, user));
    return out;
  }

  void import_nodes(const jit::Block* from, Block* to) {
    for (const jit::Node* node : from->nodes()) import_node(node, to);
  }

  Node* place(const jit::Node* from, Node* node, Block* to) {
    node->source = location_of(from);
    for (const jit::Value* output : from->outputs()) {
      values_[output] =
          graph_.add_output(node, output->type(), output->hasDebugName() ? output->debugName() : std::string());
    }
    graph_.append(to, node);
    return node;
  }

  Node* place(const jit::Node* from, Opcode opcode, Block* to) {
    return place(from, graph_.create(opcode, values(from->inputs(), from)), to);
  }

  void import_node(const jit::Node* node, Block* to) {
    switch (node->kind()) {
      case c10::prim::Constant:
        return import_constant(node);
      case c10::prim::GetAttr:
        return import_get_attribute(node, to);
      case c10::prim::SetAttr:
        return import_set_attribute(node, to);
      case c10::prim::CallMethod:
        return import_call(node, to);
      case c10::prim::If:
        return import_if(node, to);
      case c10::prim::Loop:
        return import_loop(node, to);
      case c10::prim::unchecked_cast:
        values_[node->output()] = value(node->input(), node);
        return;
      case c10::prim::ListConstruct:
        place(node, Opcode::kListConstruct, to);
        return;
      case c10::prim::TupleConstruct:
        place(node, Opcode::kTupleConstruct, to);
        return;
      case c10::prim::DictConstruct:
        place(node, Opcode::kDictConstruct, to);
        return;
      case c10::prim::ListUnpack:
        place(node, Opcode::kListUnpack, to);
        return;
      case c10::prim::TupleUnpack:
        place(node, Opcode::kTupleUnpack, to);
        return;
      case c10::prim::TupleIndex:
        place(node, Opcode::kTupleIndex, to);
        return;
      case c10::prim::TupleSlice:
        return import_tuple_slice(node, to);
      case c10::prim::CreateObject:
        place(node, Opcode::kCreateObject, to);
        return;
      case c10::prim::RaiseException:
        place(node, Opcode::kRaise, to);
        return;
      case c10::prim::Uninitialized:
        place(node, Opcode::kUninitialized, to);
        return;
      case c10::prim::isinstance:
        place(node, Opcode::kIsInstance, to)->types = node->tys(c10::attr::types);
        return;
      case c10::prim::Enter:
      case c10::prim::Exit:
        return import_context(node, to);
      default:
        return import_operator(node, to);
    }
  }

  void import_constant(const jit::Node* node) {
    auto constant = jit::toIValue(node->output());
    if (!constant) return;  // a function's name, left over from inlining
    values_[node->output()] = graph_.constant(*constant, node->output()->type());
  }

  const ObjectPtr* known_module(const jit::Value* v) const {
    auto found = objects_.find(v);
    return found == objects_.end() ? nullptr : &found->second;
  }

  void import_get_attribute(const jit::Node* node, Block* to) {
    const std::string& name = node->s(c10::attr::name);
    if (const ObjectPtr* module = known_module(node->input())) {
      c10::IValue attribute = (*module)->getAttr(name);
      if (attribute.isModule()) {
        objects_[node->output()] = attribute.toObject();
      } else {
        Node* load = graph_.create(Opcode::kLoadState);
        load->index = slots_.slot(*module, name);
        place(node, load, to);
      }
      return;
    }
    place(node, Opcode::kGetAttr, to)->name = name;
  }

  void import_set_attribute(const jit::Node* node, Block* to) {
    const std::string& name = node->s(c10::attr::name);
    if (const ObjectPtr* module = known_module(node->inputs()[0])) {
      Node* store = graph_.create(Opcode::kStoreState, {value(node->inputs()[1], node)});
      store->index = slots_.slot(*module, name);
      place(node, store, to);
      return;
    }
    place(node, Opcode::kSetAttr, to)->name = name;
  }

  // What inlining leaves: methods of interfaces. The receiver is known if it is an attribute of a known module.
  void import_call(const jit::Node* node, Block* to) {
    const std::string& name = node->s(c10::attr::name);
    const ObjectPtr* module = known_module(node->inputs()[0]);
    if (!module) {
      place(node, Opcode::kCallMethod, to)->name = name;
      return;
    }
    auto source = inlined((*module)->type()->getMethod(name));
    objects_[source->inputs()[0]] = *module;
    for (size_t i = 1; i < source->inputs().size(); ++i) bind(source->inputs()[i], node->inputs()[i], node);
    import_nodes(source->block(), to);
    for (size_t i = 0; i < source->outputs().size(); ++i) bind(node->outputs()[i], source->outputs()[i], node);
  }

  void bind(const jit::Value* name, const jit::Value* same, const jit::Node* user) {
    if (const ObjectPtr* module = known_module(same)) {
      objects_[name] = *module;
    } else {
      values_[name] = value(same, user);
    }
  }

  void import_block(const jit::Block* from, Block* to, const jit::Node* owner) {
    for (const jit::Value* param : from->inputs()) {
      values_[param] = graph_.add_param(to, param->type(), param->hasDebugName() ? param->debugName() : std::string());
    }
    import_nodes(from, to);
    for (const jit::Value* result : from->outputs()) graph_.add_result(to, value(result, owner));
  }

  void import_if(const jit::Node* node, Block* to) {
    Node* mine = place(node, Opcode::kIf, to);
    for (const jit::Block* block : node->blocks()) import_block(block, graph_.add_block(mine), node);
  }

  void import_loop(const jit::Node* node, Block* to) {
    Node* mine = place(node, Opcode::kLoop, to);
    import_block(node->blocks()[0], graph_.add_block(mine), node);
  }

  void import_tuple_slice(const jit::Node* node, Block* to) {
    Value* tuple = value(node->input(), node);
    Node* unpack = graph_.create(Opcode::kTupleUnpack, {tuple});
    unpack->source = location_of(node);
    for (const auto& type : node->input()->type()->expectRef<c10::TupleType>().elements())
      graph_.add_output(unpack, type);
    graph_.append(to, unpack);
    std::vector<Value*> chosen(unpack->outputs.begin() + node->i(c10::attr::beg),
                               unpack->outputs.begin() + node->i(c10::attr::end));
    place(node, graph_.create(Opcode::kTupleConstruct, std::move(chosen)), to);
  }

  // `with object:` calls the object's own methods.
  void import_context(const jit::Node* node, Block* to) {
    bool enter = node->kind() == c10::prim::Enter;
    Node* call = graph_.create(Opcode::kCallMethod, {value(node->input(), node)});
    call->name = enter ? "__enter__" : "__exit__";
    if (!enter) {
      for (int i = 0; i < 3; ++i) graph_.add_input(call, graph_.constant(c10::IValue(), c10::NoneType::get()));
    }
    place(node, call, to);
  }

  void import_operator(const jit::Node* node, Block* to) {
    const jit::Operator* theirs = node->maybeOperator();
    if (!theirs) refuse(node, "is not supported");
    const auto& schema = theirs->schema();
    const Operator* op = find_operator(schema.name(), schema.overload_name());
    if (!op || op->schema != schema) refuse(node, "is not supported");
    place(node, graph_.create(op, values(node->inputs(), node)), to);
  }

  Graph& graph_;
  SlotTable& slots_;
  std::unordered_map<const jit::Value*, Value*> values_;
  std::unordered_map<const jit::Value*, ObjectPtr> objects_;
  std::vector<std::shared_ptr<jit::Graph>> sources_;
};

Method import_one(const torch::jit::Module& module, const torch::jit::Method& source, SlotTable& slots) {
  Method method;
  method.name = source.name();
  const auto& schema = source.function().getSchema();
  for (size_t i = 1; i < schema.arguments().size(); ++i) {
    const auto& argument = schema.arguments()[i];
    method.parameters.push_back({argument.name(), argument.type(), argument.default_value()});
  }
  if (!schema.returns().empty()) method.result = schema.returns()[0].type();
  auto graph = std::make_unique<Graph>();
  try {
    Importer(*graph, slots).import_method(module._ivalue(), source.function());
    method.graph = std::move(graph);
  } catch (const Error& error) {
    method.unsupported = error;
  }
  return method;
}

}  // namespace

Program import_torchscript(const torch::jit::Module& module) {
  Program program;
  program.format = "torchscript";
  program.keep_alive = module._ivalue()->compilation_unit();
  SlotTable slots(program.slots);
  slots.name_objects(module._ivalue(), "");
  for (const auto& method : module.get_methods()) program.methods.push_back(import_one(module, method, slots));
  return program;
}

}  // namespace stator
