#include "frontend/torchscript/import.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "frontend/torchscript/slot_table.h"

namespace stator {
namespace {

namespace jit = torch::jit;

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

std::string name_of(const jit::Value* value) { return value->hasDebugName() ? value->debugName() : std::string(); }

[[noreturn]] void refuse(const jit::Node* node, const std::string& why) {
  throw Error(ErrorCode::kUnsupported, std::string(node->kind().toQualString()) + " " + why,
              {node->kind().toQualString(), "", location_of(node).str(), ""});
}

// Imports one method: walks TorchScript's graph and mirrors it.
class Importer {
 public:
  Importer(Graph& graph, const ModuleTable& modules, SlotTable& slots)
      : graph_(graph), modules_(modules), slots_(slots) {}

  void import_method(const ObjectPtr& self, const jit::Function& function) {
    auto source = inlined(function);
    objects_[source->inputs()[0]] = self;
    for (size_t i = 1; i < source->inputs().size(); ++i) {
      const jit::Value* input = source->inputs()[i];
      const std::string& name = function.getSchema().arguments()[i].name();
      if (holds_modules(input->type())) throw Error(ErrorCode::kUnsupported, "argument \"" + name + "\" is a module");
      values_[input] = graph_.add_param(&graph_.root(), input->type(), name);
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
    if (const ObjectPtr* module = known_module(v)) return graph_.constant(modules_.number(*module));
    throw Error(ErrorCode::kUnsupported, "a function is used as a value, which is not supported",
                {"", "", user ? location_of(user).str() : "", ""});
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
    if (node->source.known()) {
      last_source_ = node->source;
    } else {
      node->source = last_source_;  // TorchScript knows none for what it adds by itself: unpacking, conversions
    }
    for (const jit::Value* output : from->outputs()) {
      values_[output] = graph_.add_output(node, numbered(output->type()), name_of(output));
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
        return import_constant(node, to);
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
      case c10::prim::fork:
        return import_fork(node, to);
      case c10::aten::wait:
        place(node, Opcode::kWait, to);
        return;
      case c10::prim::unchecked_cast:
        return bind(node->output(), node->input(), node);
      case c10::prim::ModuleContainerIndex:
        return import_container_index(node, to);
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
        if (holds_modules(node->input()->type()))
          refuse(node, "asks for the class of a module, which is not supported");
        place(node, Opcode::kIsInstance, to)->types = node->tys(c10::attr::types);
        return;
      case c10::prim::Enter:
      case c10::prim::Exit:
        return import_context(node, to);
      default:
        return import_operator(node, to);
    }
  }

  void import_constant(const jit::Node* node, Block* to) {
    auto constant = jit::toIValue(node->output());
    if (!constant) return;  // a function's name, left over from inlining
    const auto& type = node->output()->type();
    const bool could_change = constant->isPtrType() && !constant->isNone() && !constant->isString();
    if (!could_change) {
      values_[node->output()] = graph_.constant(*constant, type);
    } else {
      place_load(node, slots_.constant(*constant, type), to);
    }
  }

  void place_load(const jit::Node* node, int64_t slot, Block* to) {
    Node* load = graph_.create(Opcode::kLoadState);
    load->index = slot;
    place(node, load, to);
  }

  const ObjectPtr* known_module(const jit::Value* v) const {
    auto found = objects_.find(v);
    return found == objects_.end() ? nullptr : &found->second;
  }

  // A module of which only the number is known, at run time.
  static bool is_picked(const jit::Value* v) { return is_module_type(v->type()); }

  void import_get_attribute(const jit::Node* node, Block* to) {
    if (const ObjectPtr* module = known_module(node->input())) return get_attribute(*module, node, to);
    if (is_picked(node->input())) {
      return choose(node, to, [&](const ObjectPtr& module, Block* block) { get_attribute(module, node, block); });
    }
    place(node, Opcode::kGetAttr, to)->name = node->s(c10::attr::name);
  }

  void get_attribute(const ObjectPtr& module, const jit::Node* node, Block* to) {
    const std::string& name = node->s(c10::attr::name);
    c10::IValue attribute = module->getAttr(name);
    if (attribute.isModule() && !modules_.swapped(module, name)) {
      objects_[node->output()] = attribute.toObject();
    } else {
      place_load(node, slots_.attribute(module, name), to);
    }
  }

  void import_set_attribute(const jit::Node* node, Block* to) {
    const jit::Value* object = node->inputs()[0];
    if (const ObjectPtr* module = known_module(object)) return set_attribute(*module, node, to);
    if (is_picked(object)) {
      return choose(node, to, [&](const ObjectPtr& module, Block* block) { set_attribute(module, node, block); });
    }
    place(node, Opcode::kSetAttr, to)->name = node->s(c10::attr::name);
  }

  void set_attribute(const ObjectPtr& module, const jit::Node* node, Block* to) {
    Node* store = graph_.create(Opcode::kStoreState, {value(node->inputs()[1], node)});
    store->index = slots_.attribute(module, node->s(c10::attr::name));
    place(node, store, to);
  }

  // What inlining leaves: methods of interfaces.
  void import_call(const jit::Node* node, Block* to) {
    const jit::Value* object = node->inputs()[0];
    if (const ObjectPtr* module = known_module(object)) return call(*module, node, to);
    if (is_picked(object)) {
      return choose(node, to, [&](const ObjectPtr& module, Block* block) { call(module, node, block); });
    }
    place(node, Opcode::kCallMethod, to)->name = node->s(c10::attr::name);
  }

  void call(const ObjectPtr& module, const jit::Node* node, Block* to) {
    const jit::Function& method = module->type()->getMethod(node->s(c10::attr::name));
    const std::pair<const void*, const void*> callee{module.get(), &method};
    if (std::find(calls_.begin(), calls_.end(), callee) != calls_.end())
      return place_raise(node, graph_.constant("a module calls itself by way of an interface"), to);
    calls_.push_back(callee);
    auto source = inlined(method);
    objects_[source->inputs()[0]] = module;
    for (size_t i = 1; i < source->inputs().size(); ++i) bind(source->inputs()[i], node->inputs()[i], node);
    import_nodes(source->block(), to);
    for (size_t i = 0; i < source->outputs().size(); ++i) bind(node->outputs()[i], source->outputs()[i], node);
    calls_.pop_back();
  }

  void place_raise(const jit::Node* node, Value* message, Block* to) {
    Node* raise = graph_.create(Opcode::kRaise, {message});
    raise->source = location_of(node);
    graph_.append(to, raise);
    place(node, graph_.create(Opcode::kUninitialized), to);
  }

  void bind(const jit::Value* name, const jit::Value* same, const jit::Node* user) {
    objects_.erase(name);
    if (const ObjectPtr* module = known_module(same)) {
      objects_[name] = *module;
    } else {
      values_[name] = value(same, user);
      if (auto found = candidates_.find(same); found != candidates_.end()) candidates_[name] = found->second;
    }
  }

  // For each module that the node's first input may be: `import` imports the node as if it were that one.
  template <class F>
  void choose(const jit::Node* node, Block* to, const F& import) {
    const jit::Value* picked = node->inputs()[0];
    Value* number = value(picked, node);
    auto found = candidates_.find(picked);
    auto candidates = found != candidates_.end() ? found->second : modules_.fitting(picked->type());
    if (candidates.empty()) refuse(node, "is of a module that the file does not hold");
    choose_among(node, number, candidates, to, import);
  }

  template <class F>
  void choose_among(const jit::Node* node, Value* number, at::ArrayRef<int64_t> candidates, Block* to,
                    const F& import) {
    if (candidates.size() == 1) {
      for (const jit::Value* output : node->outputs()) objects_.erase(output);
      return import(modules_.module(candidates[0]), to);
    }
    Value* is_first = call_operator("aten::eq.int", {number, graph_.constant(candidates[0])}, node, to);
    Node* branch = graph_.create(Opcode::kIf, {is_first});
    const std::array<at::ArrayRef<int64_t>, 2> sides{candidates.slice(0, 1), candidates.slice(1)};
    for (at::ArrayRef<int64_t> side : sides) {
      Block* block = graph_.add_block(branch);
      choose_among(node, number, side, block, import);
      for (const jit::Value* output : node->outputs()) graph_.add_result(block, value(output, node));
    }
    for (const jit::Value* output : node->outputs()) objects_.erase(output);
    place(node, branch, to);
  }

  Value* call_operator(const char* key, std::vector<Value*> inputs, const jit::Node* node, Block* to) {
    Node* mine = graph_.create(find_operator(key), std::move(inputs));
    mine->source = location_of(node);
    Value* output = graph_.add_output(mine, mine->op->schema.returns()[0].type());
    graph_.append(to, mine);
    return output;
  }

  // modules[index]: the number of one of its children, which are attributes named "0", "1", ... or, of a dict, by the keys.
  void import_container_index(const jit::Node* node, Block* to) {
    if (const ObjectPtr* container = known_module(node->input(0))) return index_container(*container, node, to);
    choose(node, to, [&](const ObjectPtr& container, Block* block) { index_container(container, node, block); });
  }

  void index_container(const ObjectPtr& container, const jit::Node* node, Block* to) {
    const bool by_name = node->input(1)->type()->kind() == c10::TypeKind::StringType;
    c10::List<std::string> names;
    c10::List<int64_t> places, numbers;
    const auto type = container->type();
    for (size_t i = 0; i < type->numAttributes(); ++i) {
      const c10::IValue child = container->getSlot(i);
      if (!child.isModule() || !child.type()->isSubtypeOf(*node->output()->type())) continue;
      names.push_back(type->getAttributeName(i));
      places.push_back(static_cast<int64_t>(places.size()));
      numbers.push_back(modules_.number(child.toObject()));
    }
    Value* index = value(node->input(1), node);
    Value* keys = by_name ? graph_.constant(names) : graph_.constant(places);
    Value* known =
        call_operator(by_name ? "aten::__contains__.str_list" : "aten::__contains__.int_list", {keys, index}, node, to);
    Node* check = graph_.create(Opcode::kIf, {known});
    Block* found = graph_.add_block(check);
    Value* place_of = by_name ? call_operator("aten::index.list_str", {keys, index}, node, found) : index;
    Node* item = graph_.create(find_operator("aten::__getitem__.t"), {graph_.constant(numbers), place_of});
    place(node, item, found);
    graph_.add_result(found, item->output());
    Block* missing = graph_.add_block(check);
    Value* text = by_name ? index : call_operator("aten::str", {index}, node, missing);
    const std::string place_text = "module container \"" + modules_.path(container) + "\" has no module ";
    place_raise(node, call_operator("aten::add.str", {graph_.constant(place_text), text}, node, missing), missing);
    graph_.add_result(missing, values_[node->output()]);
    place(node, check, to);
    candidates_[node->output()] = numbers.vec();
  }

  void import_block(const jit::Block* from, Block* to, const jit::Node* owner) {
    for (const jit::Value* param : from->inputs()) {
      values_[param] = graph_.add_param(to, numbered(param->type()), name_of(param));
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

  // What the forked code captures comes in as arguments; a captured module is known in there as it is out here.
  void import_fork(const jit::Node* node, Block* to) {
    auto source = node->g(c10::attr::Subgraph)->copy();
    jit::Inline(*source);
    sources_.push_back(source);
    Node* mine = graph_.create(Opcode::kFork);
    Block* body = graph_.add_block(mine);
    for (size_t i = 0; i < source->inputs().size(); ++i) {
      const jit::Value* param = source->inputs()[i];
      if (const ObjectPtr* module = known_module(node->inputs()[i])) {
        objects_[param] = *module;
        continue;
      }
      graph_.add_input(mine, value(node->inputs()[i], node));
      values_[param] = graph_.add_param(body, numbered(param->type()), name_of(param));
    }
    place(node, mine, to);
    import_nodes(source->block(), body);
    for (const jit::Value* result : source->outputs()) graph_.add_result(body, value(result, node));
  }

  void import_tuple_slice(const jit::Node* node, Block* to) {
    Value* tuple = value(node->input(), node);
    Node* unpack = graph_.create(Opcode::kTupleUnpack, {tuple});
    unpack->source = location_of(node);
    for (const auto& type : node->input()->type()->expectRef<c10::TupleType>().elements())
      graph_.add_output(unpack, numbered(type));
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
  const ModuleTable& modules_;
  SlotTable& slots_;
  std::unordered_map<const jit::Value*, Value*> values_;
  std::unordered_map<const jit::Value*, ObjectPtr> objects_;
  std::unordered_map<const jit::Value*, std::vector<int64_t>> candidates_;  // of picked modules, where fewer than fit
  std::vector<std::pair<const void*, const void*>> calls_;                  // under way: module and method
  SourceLocation last_source_;
  std::vector<std::shared_ptr<jit::Graph>> sources_;
};

bool holds_future(const c10::TypePtr& type) {
  const auto inner = type->containedTypes();
  return type->kind() == c10::TypeKind::FutureType || std::any_of(inner.begin(), inner.end(), holds_future);
}

Method import_one(const torch::jit::Module& module, const torch::jit::Method& source, const ModuleTable& modules,
                  SlotTable& slots) {
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
    if (method.result && holds_future(method.result)) {
      throw Error(ErrorCode::kUnsupported, "method \"" + method.name + "\" returns " + method.result->annotation_str() +
                                               "; a future cannot leave a model, wait for it inside");
    }
    Importer(*graph, modules, slots).import_method(module._ivalue(), source.function());
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
  const ModuleTable modules(module._ivalue());
  SlotTable slots(program.slots, modules);
  for (const auto& method : module.get_methods()) program.methods.push_back(import_one(module, method, modules, slots));
  return program;
}

}  // namespace stator
