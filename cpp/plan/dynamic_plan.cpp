#include <algorithm>
#include <unordered_map>

#include "analysis/aliases.h"
#include "analysis/lifetimes.h"
#include "memory/storage_groups.h"
#include "ops/fitting_threads.h"
#include "plan/binding.h"
#include "plan/bound_call.h"
#include "plan/known_sizes.h"
#include "plan/plan.h"

namespace stator {
namespace {

// Values of these types own nothing, so clearing their slots early gains nothing.
bool owns_nothing(const c10::TypePtr& type) {
  return !may_alias(type) && type->kind() != c10::TypeKind::StringType && type->kind() != c10::TypeKind::TupleType &&
         type->kind() != c10::TypeKind::OptionalType;
}

bool is_jump(InstructionKind kind) {
  return kind == InstructionKind::kJump || kind == InstructionKind::kJumpIfFalse ||
         kind == InstructionKind::kLoopStart || kind == InstructionKind::kLoopNext || kind == InstructionKind::kRaise;
}

// What is known of a whole graph, for its plan and those of its forks.
struct Analysis {
  explicit Analysis(const Graph& graph)
      : graph(graph), aliases(graph), order(graph), lifetimes(graph, aliases, order), outside(find_outside()) {
    for (const Value* output : graph.outputs()) add_reached(output, results);
    std::sort(results.begin(), results.end());
  }

  const Graph& graph;
  Aliases aliases;
  FlatOrder order;
  Lifetimes lifetimes;
  LocationSet outside;  // what something outside the run, or another task of it, may hold on to
  LocationSet results;

  bool state_may_keep_inputs() const {
    LocationSet roots;
    for (size_t i = 0; i < aliases.locations().size(); ++i) {
      if (aliases.locations()[i].kind == Location::Kind::kState) roots.push_back(static_cast<LocationId>(i));
    }
    for (auto& [slot, value] : aliases.state_stores()) add_reached(value, roots);
    const LocationSet kept = aliases.reach(roots);
    return std::any_of(kept.begin(), kept.end(), [&](LocationId location) {
      return aliases.locations()[location].kind == Location::Kind::kInput;
    });
  }

 private:
  void add_reached(const Value* value, LocationSet& to) const {
    for (LocationId location : aliases.reach(value)) to.push_back(location);
  }

  // State, the caller's containers, constants; all that goes into a fork or comes out of it.
  LocationSet find_outside() const {
    LocationSet roots;
    for (size_t i = 0; i < aliases.locations().size(); ++i) {
      if (aliases.locations()[i].kind != Location::Kind::kFresh) roots.push_back(static_cast<LocationId>(i));
    }
    for (auto& [slot, value] : aliases.state_stores()) add_reached(value, roots);
    for_each_node(graph.root(), [&](const Node* node) {
      if (node->opcode != Opcode::kFork) return;
      for (const Value* param : node->blocks[0]->params) add_reached(param, roots);
      add_reached(node->output(), roots);
    });
    std::sort(roots.begin(), roots.end());
    roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
    return aliases.reach(roots);
  }
};

// Lays a block, the graph's root or a fork's, out as instructions.
class Builder {
 public:
  Builder(const Analysis& analysis, const Block& block, PlannerKind planner, std::shared_ptr<PackedWeights> packed)
      : analysis_(analysis), aliases_(analysis.aliases), block_(block), planner_(planner), packed_(std::move(packed)) {}

  std::unique_ptr<Plan> build(std::string path = {}) {
    plan_->graph = &analysis_.graph;
    plan_->planner = planner_;
    plan_->path = std::move(path);
    assign_constants();
    plan_->first_input = next_slot_;
    plan_->input_count = static_cast<int32_t>(block_.params.size());
    for (const Value* input : block_.params) {
      slot_of_[input] = next_slot_++;
      LocationId location = aliases_.made_by(input);
      plan_->writes_input.push_back(location >= 0 && aliases_.locations()[location].written);
    }
    emit_block(block_, 0);
    for (const Value* output : block_.results) plan_->outputs.push_back(slot(output));
    for (const Value* output : block_.results) collect_leaves(output, output->type);
    if (!plan_->fixed_structure) plan_->leaves.clear();
    finish_memory();
    finish_slots();
    return std::move(plan_);
  }

 private:
  // All that the block holds, and those of the graph that it uses.
  void assign_constants() {
    for_each_node(block_, [&](const Node* node) {
      if (node->opcode == Opcode::kConstant) add_constant(node->output());
      for (const Value* input : node->inputs) add_constant(input);
      for (const Block* inner : node->blocks) {
        for (const Value* result : inner->results) add_constant(result);
      }
    });
    for (const Value* result : block_.results) add_constant(result);
  }

  void add_constant(const Value* value) {
    const c10::IValue* constant = constant_of(value);
    if (!constant || !slot_of_.try_emplace(value, next_slot_).second) return;
    ++next_slot_;
    plan_->constants.push_back(*constant);
  }

  int32_t slot(const Value* value) {
    auto [it, added] = slot_of_.try_emplace(value, next_slot_);
    if (added) ++next_slot_;
    return it->second;
  }

  Instruction& emit(InstructionKind kind, const std::vector<int32_t>& inputs, const std::vector<int32_t>& outputs,
                    int32_t node) {
    Instruction& instruction = plan_->code.emplace_back();
    instruction.kind = kind;
    instruction.operands = static_cast<int32_t>(plan_->operands.size());
    instruction.input_count = static_cast<int32_t>(inputs.size());
    instruction.output_count = static_cast<int32_t>(outputs.size());
    instruction.node = node;
    plan_->operands.insert(plan_->operands.end(), inputs.begin(), inputs.end());
    plan_->operands.insert(plan_->operands.end(), outputs.begin(), outputs.end());
    return instruction;
  }

  int32_t here() const { return static_cast<int32_t>(plan_->code.size()); }

  std::vector<int32_t> slots(const std::vector<Value*>& values, size_t from = 0) {
    std::vector<int32_t> out;
    for (size_t i = from; i < values.size(); ++i) out.push_back(slot(values[i]));
    return out;
  }

  // The values that are last used by `node`, or inside its blocks, counted on the level of the block that defines them.
  using DropLists = std::unordered_map<const Node*, std::vector<const Value*>>;

  void emit_block(const Block& block, int depth) {
    DropLists drops = last_uses(block);
    for (const Node* node : block.nodes) {
      emit_node(*node, depth);
      auto found = drops.find(node);
      if (found != drops.end()) drop(found->second);
    }
  }

  static const Node* ancestor_in(const Block& block, const Node* node) {
    while (node && node->owner != &block) node = node->owner->owner;
    return node;
  }

  DropLists last_uses(const Block& block) {
    std::unordered_map<const Node*, int32_t> position;
    int32_t next = 0;
    for (const Node* node : block.nodes) position[node] = next++;
    DropLists out;
    for (const Node* node : block.nodes) {
      for (const Value* value : node->outputs) {
        if (node->opcode == Opcode::kConstant || owns_nothing(value->type)) continue;
        const Node* last = node;
        bool leaves = false;  // a result of this block: handed over at its end
        for (const Use& use : value->uses) {
          if (!use.user && use.block == &block) leaves = true;
          const Node* user = ancestor_in(block, use.user ? use.user : use.block->owner);
          if (user && position[user] > position[last]) last = user;
        }
        if (!leaves) out[last].push_back(value);
      }
    }
    return out;
  }

  // Planned tensors do, to be found there by the next run; what may view others' memory does not, or it would hold that memory.
  bool stays_in_slot(const Value* value) const {
    const auto planned = planned_.find(value);
    return planned != planned_.end() && !plan_->tensors[planned->second].maybe_view;
  }

  void drop(const std::vector<const Value*>& values) {
    std::vector<int32_t> slots;
    for (const Value* value : values) {
      if (!stays_in_slot(value)) slots.push_back(slot(value));
    }
    if (slots.empty()) return;
    Instruction* last = plan_->code.empty() ? nullptr : &plan_->code.back();
    bool attachable = last && !is_jump(last->kind) && last->drop_count == 0 && !is_target_.count(here());
    if (!attachable) last = &emit(InstructionKind::kMove, {}, {}, -1);
    last->drops = static_cast<int32_t>(plan_->drops.size());
    last->drop_count = static_cast<int32_t>(slots.size());
    plan_->drops.insert(plan_->drops.end(), slots.begin(), slots.end());
  }

  int32_t add_node(const Node& node, Implementation implementation, bool control, int depth) {
    plan_->nodes.push_back({&node, std::move(implementation), control, depth});
    return static_cast<int32_t>(plan_->nodes.size()) - 1;
  }

  void emit_node(const Node& node, int depth) {
    switch (node.opcode) {
      case Opcode::kConstant:
        return;
      case Opcode::kIf:
        return emit_if(node, depth);
      case Opcode::kLoop:
        return emit_loop(node, depth);
      case Opcode::kRaise:
        emit(InstructionKind::kRaise, slots(node.inputs), {}, add_node(node, {}, true, depth));
        return;
      case Opcode::kCallMethod:
        emit(InstructionKind::kCallMethod, slots(node.inputs), slots(node.outputs),
             add_node(node,
                      {nullptr, nullptr, ImplKind::kFallback, "a method of an object that is only known at run time"},
                      false, depth));
        return;
      case Opcode::kLoadState:
        emit(InstructionKind::kLoadState, {}, slots(node.outputs), add_node(node, {}, true, depth)).index =
            static_cast<int32_t>(node.index);
        return;
      case Opcode::kStoreState:
        emit(InstructionKind::kStoreState, slots(node.inputs), {}, add_node(node, {}, true, depth)).index =
            static_cast<int32_t>(node.index);
        return;
      case Opcode::kFork:
        return emit_fork(node, depth);
      case Opcode::kWait:
        plan_->has_tasks = true;
        emit(InstructionKind::kWait, slots(node.inputs), slots(node.outputs), add_node(node, {}, true, depth));
        return;
      default:
        return emit_call(node, depth);
    }
  }

  void emit_fork(const Node& node, int depth) {
    plan_->has_tasks = true;
    int32_t number = add_node(node, {}, true, depth);
    emit(InstructionKind::kFork, slots(node.inputs), slots(node.outputs), number).index =
        static_cast<int32_t>(plan_->forks.size());
    plan_->forks.push_back(
        Builder(analysis_, *node.blocks[0], planner_, packed_).build(plan_->path + std::to_string(number) + "."));
  }

  void emit_call(const Node& node, int depth) {
    Implementation implementation = with_fitting_threads(node, choose_implementation(node));
    if (packed_) implementation = with_bound_kernels(node, std::move(implementation), packed_);
    auto run = implementation.run;
    const void* data = implementation.data.get();
    bool out_variant = implementation.kind == ImplKind::kOut;
    int32_t number = add_node(node, std::move(implementation), false, depth);
    auto outputs = slots(node.outputs);
    Instruction& instruction = emit(InstructionKind::kCall, slots(node.inputs), outputs, number);
    instruction.run = run;
    instruction.data = data;
    const int32_t first_output = instruction.operands + instruction.input_count;
    plan_->home_of_operand.resize(plan_->operands.size());
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ResultHome home = home_of(node.output(i));
      plan_->home_of_operand[first_output + i] = home;
      // A kernel may make what is part of the result, though the operator itself does not write into given memory.
      const bool placed = out_variant || (home.kind == ResultHome::Kind::kArena && find_binder(node));
      if (placed && planner_ != PlannerKind::kNone)
        plan_output(node.output(i), first_output + static_cast<int32_t>(i), home);
    }
  }

  ResultHome home_of(const Value* output) const {
    const LocationId location = aliases_.made_by(output);
    if (location < 0 || aliases_.locations()[location].kind != Location::Kind::kFresh) return {};
    ResultHome home{ResultHome::Kind::kWorkspace, aliases_.locations()[location].written,
                    aliases_.points_to(output).size() > 1};
    if (contains(analysis_.outside, location)) {
      home.kind = ResultHome::Kind::kHeap;
    } else if (contains(analysis_.results, location)) {
      home.kind = ResultHome::Kind::kArena;
    }
    return home;
  }

  void plan_output(const Value* output, int32_t operand, ResultHome home) {
    if (!output->is_tensor() || home.kind == ResultHome::Kind::kElsewhere || home.kind == ResultHome::Kind::kHeap)
      return;
    const LocationId location = aliases_.made_by(output);
    if (analysis_.lifetimes.carried(location)) {
      plan_->carried.push_back(operand);
      return;
    }
    PlannedTensor tensor;
    tensor.value = output;
    tensor.slot = slot(output);
    tensor.place = home.kind == ResultHome::Kind::kArena ? Place::kArena : Place::kWorkspace;
    tensor.lifetime = analysis_.lifetimes.of(location);
    tensor.written = home.written;
    tensor.maybe_view = home.maybe_view;
    planned_.emplace(output, static_cast<int32_t>(plan_->tensors.size()));
    plan_->tensors.push_back(tensor);
  }

  void emit_results(const Block& block, const std::vector<int32_t>& to, size_t from_index, int32_t number) {
    auto from = slots(block.results, from_index);
    if (from != to) emit(InstructionKind::kMove, from, to, number);
    // What was handed over is no longer needed under its old name.
    std::vector<const Value*> handed;
    for (size_t i = from_index; i < block.results.size(); ++i) {
      const Value* value = block.results[i];
      bool own = value->node && value->node->owner == &block && value->node->opcode != Opcode::kConstant;
      bool same_slot = std::find(to.begin(), to.end(), slot(value)) != to.end();
      if (own && !same_slot && !owns_nothing(value->type) &&
          std::find(handed.begin(), handed.end(), value) == handed.end())
        handed.push_back(value);
    }
    drop(handed);
  }

  void emit_if(const Node& node, int depth) {
    int32_t number = add_node(node, {}, true, depth);
    auto outputs = slots(node.outputs);
    int32_t branch = here();
    emit(InstructionKind::kJumpIfFalse, {slot(node.input())}, {}, number);
    emit_block(*node.blocks[0], depth + 1);
    emit_results(*node.blocks[0], outputs, 0, number);
    int32_t skip = here();
    emit(InstructionKind::kJump, {}, {}, number);
    set_target(branch, here());
    emit_block(*node.blocks[1], depth + 1);
    emit_results(*node.blocks[1], outputs, 0, number);
    set_target(skip, here());
  }

  void emit_loop(const Node& node, int depth) {
    int32_t number = add_node(node, {}, true, depth);
    const Block& body = *node.blocks[0];
    // A carried value and the loop's result are one slot: the loop may end after any iteration.
    for (size_t i = 0; i < node.outputs.size(); ++i) slot_of_[body.params[i + 1]] = slot(node.output(i));
    auto carried = slots(node.outputs);
    if (!carried.empty()) emit(InstructionKind::kMove, slots(node.inputs, 2), carried, number);
    int32_t counter = slot(body.params[0]);
    int32_t start = here();
    emit(InstructionKind::kLoopStart, {slot(node.input(0)), slot(node.input(1))}, {counter}, number);
    int32_t first = here();
    is_target_.emplace(first, true);
    emit_block(body, depth + 1);
    // The condition may itself be a carried value that the move below overwrites.
    int32_t condition = next_slot_++;
    auto from = slots(body.results, 1);
    from.push_back(slot(body.results[0]));
    auto to = carried;
    to.push_back(condition);
    emit(InstructionKind::kMove, from, to, number);
    drop_handed(body);
    emit(InstructionKind::kLoopNext, {slot(node.input(0)), condition}, {counter}, number).target = first;
    set_target(start, here());
  }

  void drop_handed(const Block& body) {
    std::vector<const Value*> handed;
    for (const Value* value : body.results) {
      bool own = value->node && value->node->owner == &body && value->node->opcode != Opcode::kConstant;
      if (own && !owns_nothing(value->type) && std::find(handed.begin(), handed.end(), value) == handed.end())
        handed.push_back(value);
    }
    drop(handed);
  }

  void set_target(int32_t jump, int32_t target) {
    plan_->code[jump].target = target;
    is_target_.emplace(target, true);
  }

  // Follows tuples as far as the graph shows what they are made of.
  void collect_leaves(const Value* value, const c10::TypePtr& type) {
    if (type->kind() == c10::TypeKind::TensorType) {
      auto found = value ? planned_.find(value) : planned_.end();
      plan_->leaves.push_back(found == planned_.end() ? -1 : found->second);
    } else if (const auto* tuple = type->castRaw<c10::TupleType>()) {
      bool made_here = value && value->node && value->node->opcode == Opcode::kTupleConstruct;
      for (size_t i = 0; i < tuple->elements().size(); ++i)
        collect_leaves(made_here ? value->node->input(i) : nullptr, tuple->elements()[i]);
    } else if (may_alias(type)) {
      plan_->fixed_structure = false;
    }
  }

  void finish_memory() {
    std::vector<Lifetime> workspace;
    std::vector<size_t> workspace_tensors;
    int32_t arena_count = 0;
    for (size_t i = 0; i < plan_->tensors.size(); ++i) {
      PlannedTensor& tensor = plan_->tensors[i];
      if (tensor.place == Place::kWorkspace) {
        tensor.index = static_cast<int32_t>(workspace.size());
        workspace.push_back(tensor.lifetime);
        workspace_tensors.push_back(i);
      } else {
        tensor.index = tensor.group = arena_count++;
      }
    }
    auto groups =
        planner_ == PlannerKind::kStandard ? assign_storage_groups(workspace) : assign_own_groups(workspace.size());
    for (size_t i = 0; i < groups.size(); ++i) plan_->tensors[workspace_tensors[i]].group = groups[i];
    plan_->observed = std::make_unique<std::atomic<int64_t>[]>(plan_->tensors.size());
  }

  void finish_slots() {
    plan_->slot_count = next_slot_;
    std::vector<int32_t> tensor_of_slot(next_slot_, -1);
    for (auto& [value, index] : planned_) tensor_of_slot[plan_->tensors[index].slot] = index;
    plan_->buffer_of_operand.assign(plan_->operands.size(), -1);
    plan_->home_of_operand.resize(plan_->operands.size());
    for (const Instruction& instruction : plan_->code) {
      if (instruction.kind != InstructionKind::kCall) continue;
      for (int32_t i = 0; i < instruction.output_count; ++i) {
        int32_t at = instruction.operands + instruction.input_count + i;
        plan_->buffer_of_operand[at] = tensor_of_slot[plan_->operands[at]];
      }
    }
    auto first = static_cast<int32_t>(plan_->constants.size());
    for (int32_t slot = first; slot < next_slot_; ++slot) {
      const int32_t tensor = tensor_of_slot[slot];
      if (tensor < 0 || plan_->tensors[tensor].maybe_view) plan_->transient_slots.push_back(slot);
    }
  }

  const Analysis& analysis_;
  const Aliases& aliases_;
  const Block& block_;
  PlannerKind planner_;
  std::shared_ptr<PackedWeights> packed_;
  std::unique_ptr<Plan> plan_ = std::make_unique<Plan>();
  std::unordered_map<const Value*, int32_t> slot_of_;
  std::unordered_map<const Value*, int32_t> planned_;  // index in plan_->tensors
  std::unordered_map<int32_t, bool> is_target_;        // instructions that a jump leads to
  int32_t next_slot_ = 0;
};

}  // namespace

ArenaLayout Plan::layout(Place place, std::vector<int64_t>* capacities) const {
  std::vector<int32_t> groups;
  std::vector<int64_t> bytes;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].place != place) continue;
    groups.push_back(tensors[i].group);
    bytes.push_back(observed[i].load(std::memory_order_relaxed));
  }
  return layout_groups(groups, bytes, capacities);
}

void Plan::forget_sizes() const {
  for (size_t i = 0; i < tensors.size(); ++i) observed[i].store(0, std::memory_order_relaxed);
  observed_version.fetch_add(1, std::memory_order_release);
  for (const auto& fork : forks) fork->forget_sizes();
}

std::unique_ptr<Plan> make_dynamic_plan(const Graph& graph, PlannerKind planner,
                                        std::shared_ptr<PackedWeights> packed) {
  const Analysis analysis(graph);
  auto plan = Builder(analysis, graph.root(), planner, std::move(packed)).build();
  plan->state_may_keep_inputs = analysis.state_may_keep_inputs();
  learn_sizes(*plan, analysis.aliases);
  return plan;
}

}  // namespace stator
