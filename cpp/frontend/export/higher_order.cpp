#include "frontend/export/higher_order.h"

#include <limits>
#include <string_view>
#include <unordered_map>

#include "frontend/export/arguments.h"
#include "frontend/export/importer.h"
#include "frontend/json.h"

namespace stator::exported {
namespace {

using namespace json;

// One call of a higher-order operator, its arguments by position.
class Call {
 public:
  Call(Builder& builder, const Scope& scope, const std::string& name, const std::vector<NamedArgument>& inputs)
      : builder_(builder), scope_(scope), name_(name), inputs_(inputs) {}

  std::vector<Value*> build() {
    if (name_ == "cond") return cond();
    if (name_ == "while_loop") return while_loop();
    if (name_ == "map_impl") return map();
    if (name_ == "scan") return scan();
    if (name_ == "wrap_with_set_grad_enabled") return region(1, 2);
    if (name_ == "wrap_with_autocast") return autocast();
    refuse(builder_, "torch.ops.higher_order." + name_,
           "is not supported; export the model without it, or try ep.run_decompositions({})");
  }

 private:
  const Argument& argument(size_t index) const {
    if (index >= inputs_.size()) malformed("torch.ops.higher_order." + name_ + " lacks arguments");
    return inputs_[index].value;
  }

  const ExportedGraph& body(size_t index) const {
    const ExportedGraph* graph = argument(index).graph();
    if (!graph) malformed("torch.ops.higher_order." + name_ + " has no graph where it should");
    return *graph;
  }

  std::vector<Value*> operands(size_t index) const {
    if (index >= inputs_.size()) return {};
    return build_operands(builder_, scope_, argument(index));
  }

  Graph& graph() { return builder_.graph(); }

  std::vector<Value*> cond() {
    Value* condition = builder_.truth(build_argument(builder_, scope_, argument(0), nullptr));
    const std::vector<Value*> given = operands(3);
    Node* choice = graph().create(Opcode::kIf, {condition});
    for (size_t branch : {1, 2}) {
      Block* block = graph().add_block(choice);
      Builder::Within within(builder_, block);
      for (Value* result : inline_graph(builder_, body(branch), given)) graph().add_result(block, result);
    }
    const auto &one = choice->blocks[0]->results, &other = choice->blocks[1]->results;
    if (one.size() != other.size()) malformed("the branches of cond give different numbers of results");
    for (size_t i = 0; i < one.size(); ++i) {
      const bool same = *one[i]->type == *other[i]->type;
      graph().add_output(
          choice,
          same ? one[i]->type : c10::unifyTypes(one[i]->type, other[i]->type, true).value_or(c10::AnyType::get()));
    }
    return builder_.place(choice)->outputs;
  }

  Value* condition(const std::vector<Value*>& carried, const std::vector<Value*>& others) {
    std::vector<Value*> given = carried;
    given.insert(given.end(), others.begin(), others.end());
    const std::vector<Value*> results = inline_graph(builder_, body(0), given);
    if (results.size() != 1) malformed("the condition of while_loop gives more than one result");
    return builder_.truth(results[0]);
  }

  std::vector<Value*> while_loop() {
    const std::vector<Value*> first = operands(2), others = operands(3);
    Node* loop = graph().create(Opcode::kLoop,
                                {builder_.constant(std::numeric_limits<int64_t>::max()), condition(first, others)});
    Block* block = graph().add_block(loop);
    graph().add_param(block, c10::IntType::get());
    std::vector<Value*> carried = carry(loop, block, first);
    Builder::Within within(builder_, block);
    std::vector<Value*> given = carried;
    given.insert(given.end(), others.begin(), others.end());
    const std::vector<Value*> next = inline_graph(builder_, body(1), given);
    if (next.size() != first.size()) malformed("the body of while_loop gives not as many values as it takes");
    graph().add_result(block, condition(next, others));
    for (Value* value : next) graph().add_result(block, value);
    return place_outside(loop);
  }

  // Gives the loop its carried values, and returns the block's parameters for them.
  std::vector<Value*> carry(Node* loop, Block* block, const std::vector<Value*>& first) {
    std::vector<Value*> params;
    for (Value* value : first) {
      graph().add_input(loop, value);
      params.push_back(graph().add_param(block, value->type, value->name));
      graph().add_output(loop, value->type);
    }
    outside_ = builder_.block();
    return params;
  }

  // The loop stands behind what computes its operands, in the block around it.
  std::vector<Value*> place_outside(Node* loop) {
    Builder::Within within(builder_, outside_);
    return builder_.place(loop)->outputs;
  }

  // A loop over the first dimension of `sequences`. What `step` gives first is carried on from `first`, the rest is stacked.
  std::vector<Value*> over_slices(const ExportedGraph& step, const std::vector<Value*>& first,
                                  const std::vector<Value*>& sequences, const std::vector<Value*>& others) {
    if (sequences.empty() || step.outputs.size() < first.size()) malformed("a loop over slices has nothing to go over");
    const size_t stacked = step.outputs.size() - first.size();
    Value* zero = builder_.constant(int64_t{0});
    Value* yes = builder_.constant(true);
    Value* count = builder_.call("aten::size.int", {sequences[0], zero});
    std::vector<Value*> lists;
    for (size_t i = 0; i < stacked; ++i) lists.push_back(builder_.list({}, c10::TensorType::get()));
    Node* loop = graph().create(Opcode::kLoop, {count, yes});
    Block* block = graph().add_block(loop);
    Value* index = graph().add_param(block, c10::IntType::get());
    std::vector<Value*> given = carry(loop, block, first);
    {
      Builder::Within within(builder_, block);
      for (Value* sequence : sequences) given.push_back(builder_.call("aten::select.int", {sequence, zero, index}));
      given.insert(given.end(), others.begin(), others.end());
      const std::vector<Value*> results = inline_graph(builder_, step, given);
      graph().add_result(block, yes);
      for (size_t i = 0; i < first.size(); ++i) graph().add_result(block, results[i]);
      for (size_t i = 0; i < stacked; ++i)
        builder_.call("aten::append.t", {lists[i], results[first.size() + i]}, lists[i]->type);
    }
    std::vector<Value*> out = place_outside(loop);
    for (Value* list : lists) out.push_back(builder_.call("aten::stack", {list, zero}));
    return out;
  }

  std::vector<Value*> map() { return over_slices(body(0), {}, operands(1), operands(2)); }

  std::vector<Value*> scan() { return over_slices(body(0), operands(1), operands(2), operands(3)); }

  // Modes that make no difference to inference: the graph runs where it stands.
  std::vector<Value*> region(size_t body_index, size_t first_operand) {
    std::vector<Value*> given;
    for (size_t i = first_operand; i < inputs_.size(); ++i) {
      const std::vector<Value*> more = operands(i);
      given.insert(given.end(), more.begin(), more.end());
    }
    return inline_graph(builder_, body(body_index), given);
  }

  // (device, dtype, enabled, cache, graph, operands...)
  std::vector<Value*> autocast() {
    const c10::IValue* enabled = argument(2).constant();
    if (enabled && enabled->isBool() && !enabled->toBool()) return region(4, 5);
    refuse(builder_, "torch.autocast",
           "is in the program, which is not supported; save ep.run_decompositions({}) instead, which does without it");
  }

  Builder& builder_;
  const Scope& scope_;
  const std::string& name_;
  const std::vector<NamedArgument>& inputs_;
  Block* outside_ = nullptr;
};

}  // namespace

std::vector<Value*> build_higher_order(Builder& builder, const Scope& scope, const std::string& name,
                                       const std::vector<NamedArgument>& inputs) {
  return Call(builder, scope, name, inputs).build();
}

}  // namespace stator::exported
