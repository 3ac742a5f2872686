#include "frontend/export/method.h"

#include <algorithm>
#include <unordered_map>

#include "frontend/export/arguments.h"
#include "frontend/export/guards.h"
#include "frontend/export/importer.h"
#include "frontend/export/structure.h"
#include "frontend/json.h"
#include "graph/error.h"
#include "graph/log.h"
#include "graph/operator.h"

namespace stator::exported {
namespace {

using namespace json;

using InputKind = InputSpec::Kind;

bool is_user(const InputSpec& spec) { return spec.kind == InputKind::kUser || spec.kind == InputKind::kConstant; }

bool is_object(const c10::TypePtr& type) { return type->kind() == c10::TypeKind::ClassType; }

// What the caller gives, one per argument of the exported module.
struct Given {
  std::string name;
  TreeSpec form;
};

class MethodImporter {
 public:
  MethodImporter(const ExportedProgram& program, const std::map<std::string, c10::IValue>& weights,
                 std::vector<StateSlot>& slots)
      : program_(program), weights_(weights), slots_(slots) {
    method_.name = "forward";
    method_.graph = std::make_unique<Graph>();
    for (size_t i = 0; i < program.input_specs.size(); ++i) {
      if (is_user(program.input_specs[i])) user_inputs_.push_back(i);
    }
  }

  Method import() {
    Builder builder(*method_.graph);
    import_parameters(builder);
    load_state(builder);
    std::vector<Value*> outputs = import_nodes(builder, program_.graph, scope_);
    builder.set_source({});
    write_back(builder, outputs);
    method_.graph->add_result(&method_.graph->root(), result(builder, outputs));
    method_.result = method_.graph->outputs()[0]->type;
    return std::move(method_);
  }

 private:
  // The arguments by name, in the order of a call.
  std::vector<Given> given() const {
    std::vector<Given> out;
    if (!program_.in_spec) {
      for (size_t input : user_inputs_) out.push_back({name_of_input(input), {}});
      return out;
    }
    const TreeSpec& spec = *program_.in_spec;
    using Kind = TreeSpec::Kind;
    if (spec.kind != Kind::kTuple || spec.children.size() != 2 || spec.children[0].kind != Kind::kTuple ||
        spec.children[1].kind != Kind::kDict)
      malformed("the form of the inputs is none of arguments and keywords");
    const auto &positional = spec.children[0].children, &keywords = spec.children[1].children;
    size_t leaf = 0;
    for (size_t i = 0; i < positional.size(); ++i) {
      const bool plain = positional[i].kind == Kind::kLeaf && leaf < user_inputs_.size();
      std::string name = i < program_.argument_names.size() ? program_.argument_names[i]
                         : plain                            ? name_of_input(user_inputs_[leaf])
                                                            : "arg" + std::to_string(i);
      out.push_back({std::move(name), positional[i]});
      leaf += positional[i].leaf_count();
    }
    for (size_t i = 0; i < keywords.size(); ++i) {
      const c10::IValue& key = spec.children[1].keys[i];
      if (!key.isString()) malformed("a keyword is no text");
      out.push_back({key.toStringRef(), keywords[i]});
    }
    return out;
  }

  std::string name_of_input(size_t input) const {
    if (const Reference* reference = program_.graph.inputs[input].reference()) return reference->name;
    return program_.input_specs[input].target;
  }

  c10::TypePtr type_of_input(size_t input) const {
    if (program_.input_specs[input].kind == InputKind::kConstant) return program_.input_specs[input].constant.type();
    const Reference* reference = program_.graph.inputs[input].reference();
    if (!reference) malformed("an input has no name");
    if (is_object(reference->type))
      throw Error(ErrorCode::kUnsupported, "the argument \"" + reference->name + "\" is an object of the class " +
                                               reference->type->annotation_str() +
                                               ", which cannot be given; make it an attribute of the model");
    return reference->type;
  }

  InputLeaf expected(size_t input, size_t parameter, std::vector<c10::IValue> path) {
    InputLeaf leaf;
    leaf.parameter = parameter;
    leaf.path = std::move(path);
    const InputSpec& spec = program_.input_specs[input];
    const Reference* reference = program_.graph.inputs[input].reference();
    if (spec.kind == InputKind::kConstant) {
      leaf.constant = spec.constant;
    } else if (auto tensor = program_.graph.tensors.find(reference->name);
               tensor != program_.graph.tensors.end() && reference->type->kind() == c10::TypeKind::TensorType) {
      leaf.dtype = tensor->second.dtype;
      leaf.sizes = tensor->second.sizes;
    } else if (auto number = program_.graph.ints.find(reference->name); number != program_.graph.ints.end()) {
      leaf.number = number->second;
    }
    return leaf;
  }

  void import_parameters(Builder& builder) {
    const std::vector<Given> arguments = given();
    std::vector<c10::TypePtr> types;
    for (size_t input : user_inputs_) types.push_back(type_of_input(input));
    size_t leaves = 0;
    for (const Given& argument : arguments) leaves += argument.form.leaf_count();
    if (leaves != user_inputs_.size()) malformed("the form of the inputs does not fit the graph");

    std::span<const c10::TypePtr> ahead(types), types_left(types);
    size_t leaf = 0;
    std::vector<Value*> values;
    for (size_t i = 0; i < arguments.size(); ++i) {
      const auto& [name, form] = arguments[i];
      Parameter parameter{name, type_of(form, ahead), {}};
      if (form.kind == TreeSpec::Kind::kLeaf) {
        const InputSpec& spec = program_.input_specs[user_inputs_[leaf]];
        if (spec.kind == InputKind::kConstant) parameter.default_value = spec.constant;
      }
      values.push_back(method_.graph->add_param(&method_.graph->root(), parameter.type, name));
      method_.parameters.push_back(std::move(parameter));
      std::vector<std::vector<c10::IValue>> ways;
      describe_containers(form, i, {}, method_.contract, ways);
      for (auto& way : ways) method_.contract.leaves.push_back(expected(user_inputs_[leaf++], i, std::move(way)));
    }
    method_.contract.ranges = program_.ranges;
    import_guards();

    leaf = 0;
    for (size_t i = 0; i < arguments.size(); ++i) {
      for (Value* value : take_apart(builder, arguments[i].form, values[i], types_left)) {
        if (const Reference* input = program_.graph.inputs[user_inputs_[leaf++]].reference())
          scope_[input->name] = value;
      }
    }
  }

  void import_guards() {
    const ResolveInput resolve = [this](const std::vector<c10::IValue>& path, int64_t dimension) {
      return size_at(path, dimension);
    };
    for (const std::string& guard : program_.guards) {
      if (auto conditions = parse_guard(guard, resolve)) {
        auto& all = method_.contract.conditions;
        all.insert(all.end(), conditions->begin(), conditions->end());
      } else {
        log(LogLevel::kWarning, "the exported program holds only if " + guard + ", which is not checked");
      }
    }
  }

  // What the size or number at a place among the inputs is called.
  std::optional<SizeExpression> size_at(const std::vector<c10::IValue>& path, int64_t dimension) const {
    for (const InputLeaf& leaf : method_.contract.leaves) {
      std::vector<c10::IValue> way{c10::IValue(method_.parameters[leaf.parameter].name)};
      way.insert(way.end(), leaf.path.begin(), leaf.path.end());
      const bool here = std::equal(way.begin(), way.end(), path.begin(), path.end(),
                                   [](const auto& a, const auto& b) { return a.tagKind() == b.tagKind() && a == b; });
      if (!here) continue;
      if (dimension < 0) return leaf.number;
      if (dimension < static_cast<int64_t>(leaf.sizes.size())) return leaf.sizes[static_cast<size_t>(dimension)];
    }
    return std::nullopt;
  }

  void load_state(Builder& builder) {
    for (size_t i = 0; i < program_.input_specs.size(); ++i) {
      const InputSpec& spec = program_.input_specs[i];
      if (is_user(spec)) continue;
      const Reference* reference = program_.graph.inputs[i].reference();
      if (!reference) malformed("a parameter or buffer has no name");
      if (spec.kind == InputKind::kToken) {
        scope_[reference->name] = builder.constant(c10::IValue());
        continue;
      }
      auto [known, added] = loaded_.try_emplace(spec.target, nullptr);
      if (added) known->second = load(builder, spec.target, reference->type);
      scope_[reference->name] = known->second;
    }
  }

  Value* load(Builder& builder, const std::string& target, const c10::TypePtr& type) {
    auto weight = weights_.find(target);
    if (weight == weights_.end()) malformed("\"" + target + "\" has no values");
    if (!weight->second.type()->isSubtypeOf(*type))
      malformed("\"" + target + "\" should be of type " + type->annotation_str() + ", but is of type " +
                weight->second.type()->annotation_str());
    Node* node = builder.graph().create(Opcode::kLoadState);
    node->index = static_cast<int64_t>(slots_.size());
    slots_.push_back({target, type, weight->second});
    builder.graph().add_output(node, type, target);
    return builder.place(node)->output();
  }

  // What a functional program says of its writes: at its end the new values go where the old ones were. A result that is such a value is
  // what was written.
  void write_back(Builder& builder, std::vector<Value*>& outputs) {
    std::unordered_map<const Value*, Value*> written;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const OutputSpec& spec = program_.output_specs[i];
      if (spec.kind != OutputSpec::Kind::kStateMutation && spec.kind != OutputSpec::Kind::kInputMutation) continue;
      Value* place = nullptr;
      if (spec.kind == OutputSpec::Kind::kInputMutation) {
        place = named(scope_, spec.target);
      } else if (auto state = loaded_.find(spec.target); state != loaded_.end()) {
        place = state->second;
      } else {
        malformed("\"" + spec.target + "\" is written but is no parameter or buffer");
      }
      written[outputs[i]] = builder.call("aten::copy_", {place, outputs[i], builder.constant(false)});
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      const auto copy = written.find(outputs[i]);
      if (program_.output_specs[i].kind == OutputSpec::Kind::kUser && copy != written.end()) outputs[i] = copy->second;
    }
  }

  Value* result(Builder& builder, const std::vector<Value*>& outputs) const {
    std::vector<Value*> users;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (program_.output_specs[i].kind == OutputSpec::Kind::kUser) users.push_back(outputs[i]);
    }
    TreeSpec flat;
    flat.kind = TreeSpec::Kind::kTuple;
    flat.children.resize(users.size());
    const TreeSpec& form = program_.out_spec ? *program_.out_spec : users.size() == 1 ? flat.children[0] : flat;
    if (form.leaf_count() != users.size()) malformed("the form of the results does not fit the graph");
    std::span<Value* const> leaves(users);
    return put_together(builder, form, leaves);
  }

  const ExportedProgram& program_;
  const std::map<std::string, c10::IValue>& weights_;
  std::vector<StateSlot>& slots_;
  Method method_;
  Scope scope_;
  std::map<std::string, Value*> loaded_;  // state by path
  std::vector<size_t> user_inputs_;       // inputs of the graph that the caller gives
};

}  // namespace

Method import_method(const ExportedProgram& program, const std::map<std::string, c10::IValue>& weights,
                     std::vector<StateSlot>& slots) {
  return MethodImporter(program, weights, slots).import();
}

}  // namespace stator::exported
