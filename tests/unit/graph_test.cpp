// Printer, parser, verifier, and what the graph itself promises.
#include <gtest/gtest.h>

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "graph/error.h"
#include "graph/graph.h"
#include "graph/parser.h"
#include "graph/printer.h"
#include "graph/verifier.h"

namespace stator {
namespace {

struct Text {
  const char* name;
  const char* text;
};

std::string test_name(const testing::TestParamInfo<Text>& info) { return info.param.name; }

class PrintedForm : public testing::TestWithParam<Text> {};

// The texts are canonical: what is read is printed as it was.
TEST_P(PrintedForm, reads_back_to_the_same_text) {
  auto graph = parse_graph(GetParam().text);
  verify(*graph);
  EXPECT_EQ(print(*graph), GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(Graph, PrintedForm,
                         testing::ValuesIn(std::vector<Text>{
                             {"empty", "graph():\n  return ()\n"},
                             {"identity_of_inputs", "graph(%x : Tensor, %y : int):\n  return (%x, %y, %x)\n"},
                             {"operators_with_and_without_overload",
                              "graph(%x : Tensor):\n"
                              "  %2 : int = prim::Constant[value=2]()\n"
                              "  %3 : Tensor = aten::add.Tensor(%x, %x, %2)\n"
                              "  %4 : Tensor = aten::relu(%3)\n"
                              "  return (%4)\n"},
                             {"source_locations",
                              "graph(%x : Tensor):\n"
                              "  %a : Tensor = aten::relu(%x)  # model.py:41 \"torch.relu(\\\"a\\\",\\n b)\"\n"
                              "  %b : Tensor = aten::relu(%a)  # my model.py:7\n"
                              "  %c : Tensor = aten::relu(%b)  # \"x # y\"\n"
                              "  return (%c)\n"},
                             {"scalar_constants",
                              "graph():\n"
                              "  %a : NoneType = prim::Constant[value=None]()\n"
                              "  %b : bool = prim::Constant[value=True]()\n"
                              "  %c : int = prim::Constant[value=-9223372036854775808]()\n"
                              "  %d : float = prim::Constant[value=0.1]()\n"
                              "  %e : float = prim::Constant[value=-3.0]()\n"
                              "  %f : float = prim::Constant[value=5e-324]()\n"
                              "  %g : float = prim::Constant[value=-inf]()\n"
                              "  %h : float = prim::Constant[value=nan]()\n"
                              "  %i : complex = prim::Constant[value=complex(1.0, -inf)]()\n"
                              "  %j : str = prim::Constant[value=\"a \\\"quoted\\\" \\\\ line\\n\\x01 # é\"]()\n"
                              "  %k : Device = prim::Constant[value=device(\"cpu\")]()\n"
                              "  return (%a, %b, %c, %d, %e, %f, %g, %h, %i, %j, %k)\n"},
                             {"container_constants",
                              "graph():\n"
                              "  %a : List[int] = prim::Constant[value=[1, 2]]()\n"
                              "  %b : List[float] = prim::Constant[value=[]]()\n"
                              "  %c : Tuple[int] = prim::Constant[value=(1,)]()\n"
                              "  %d : Tuple[] = prim::Constant[value=()]()\n"
                              "  %e : Tuple[List[str], Optional[float]] = prim::Constant[value=([\"x\"], None)]()\n"
                              "  %f : Optional[List[int]] = prim::Constant[value=[3]]()\n"
                              "  %g : List[List[bool]] = prim::Constant[value=[[True], []]]()\n"
                              "  return (%a, %b, %c, %d, %e, %f, %g)\n"},
                             {"types",
                              "graph(%a : Dict[str, List[Tensor]], %b : Optional[Tuple[int, str]], %c : Any, %d : "
                              "Scalar, %e : Union[Tensor, List[int]]):\n"
                              "  return (%a)\n"},
                             {"blocks",
                              "graph(%x : Tensor, %c : bool, %n : int):\n"
                              "  %y : Tensor, %z : int = prim::If(%c)\n"
                              "    block0():\n"
                              "      %4 : Tensor = aten::relu(%x)\n"
                              "      -> (%4, %n)\n"
                              "    block1():\n"
                              "      -> (%x, %n)\n"
                              "  %w : Tensor = prim::Loop(%n, %c, %y)\n"
                              "    block0(%i : int, %k : Tensor):\n"
                              "      %5 : Tensor = aten::relu(%k)\n"
                              "      -> (%c, %5)\n"
                              "  return (%w, %z)\n"},
                             {"attributes",
                              "graph(%o : Any, %x : Tensor):\n"
                              "  %a : Tensor = prim::GetAttr[name=\"weight\"](%o)\n"
                              "  prim::SetAttr[name=\"weight\"](%o, %x)\n"
                              "  %b : Tensor = prim::CallMethod[name=\"forward\"](%o, %x)\n"
                              "  %c : Tensor = stator::LoadState[slot=3]()\n"
                              "  stator::StoreState[slot=3](%b)\n"
                              "  %d : bool = prim::isinstance[types=(int, List[Tensor])](%o)\n"
                              "  return (%a, %c, %d)\n"},
                         }),
                         test_name);

TEST(Printer, floats_read_back_bit_for_bit) {
  for (double number :
       {0.1 + 0.2, 1e300, -0.0, std::numeric_limits<double>::max(), std::numeric_limits<double>::denorm_min()}) {
    Graph graph;
    Value* value = graph.constant(number);
    graph.add_result(&graph.root(), value);
    auto copy = parse_graph(print(graph));
    double read = constant_of(copy->outputs()[0])->toDouble();
    EXPECT_EQ(read, number);
    EXPECT_EQ(std::signbit(read), std::signbit(number));
  }
}

TEST(Printer, tensors_are_numbered_in_order_of_printing_and_described) {
  std::vector<at::Tensor> tensors{at::ones({3, 4}), at::zeros({}, at::kLong), at::zeros({0}, at::kBool)};
  const char* text =
      "graph():\n"
      "  %a : Tensor = prim::Constant[tensor=0]()  # float32[3, 4]\n"
      "  %b : Tuple[Tensor, int] = prim::Constant[value=(tensor(1), 2)]()\n"
      "  %c : Tensor = prim::Constant[tensor=2]()  # bool[0]  # model.py:3 \"self.c\"\n"
      "  return (%a, %b, %c)\n";
  auto graph = parse_graph(text, tensors);
  EXPECT_EQ(print(*graph), text);
  auto table = tensor_constants(*graph);
  ASSERT_EQ(table.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(table[i].is_same(tensors[i]));
}

TEST(Printer, makes_names_unique_and_numbers_values_without_a_printable_name) {
  Graph graph;
  const auto tensor = c10::TensorType::get();
  for (const char* name : {"x", "x", "", "a b", "1"})
    graph.add_result(&graph.root(), graph.add_param(&graph.root(), tensor, name));
  EXPECT_EQ(print(graph),
            "graph(%x : Tensor, %x.1 : Tensor, %2 : Tensor, %3 : Tensor, %1 : Tensor):\n"
            "  return (%x, %x.1, %2, %3, %1)\n");
  EXPECT_EQ(print(*parse_graph(print(graph))), print(graph));
}

TEST(Parser, takes_the_short_forms_of_types) {
  EXPECT_EQ(print(*parse_type("Tensor?[]")), "List[Optional[Tensor]]");
  EXPECT_EQ(print(*parse_type("Dict[str, int[]]")), "Dict[str, List[int]]");
  EXPECT_EQ(print(*parse_type("None")), "NoneType");
}

TEST(Parser, types_list_constants_by_their_output) {
  auto graph = parse_graph(
      "graph():\n %a : List[Optional[int]] = prim::Constant[value=[1, None]]()\n %b : int[] = "
      "prim::Constant[value=[]]()\n return (%a, %b)");
  EXPECT_EQ(print(*constant_of(graph->outputs()[0])->type<c10::Type>()), "List[Optional[int]]");
  EXPECT_TRUE(constant_of(graph->outputs()[1])->isIntList());
}

struct Broken {
  const char* name;
  const char* text;
  const char* message;
};

class BrokenText : public testing::TestWithParam<Broken> {};

TEST_P(BrokenText, is_refused_with_its_line) {
  try {
    parse_graph(GetParam().text);
    FAIL() << "was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(error.message, GetParam().message);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Parser, BrokenText,
    testing::ValuesIn(std::vector<Broken>{
        {"nothing", "", "line 1: expected 'graph', found the end"},
        {"unknown_value", "graph():\n  return (%x)", "line 2: %x is not defined"},
        {"defined_twice", "graph(%x : int, %x : int):\n  return ()", "line 1: %x is defined twice"},
        {"unknown_operator", "graph(%x : int):\n\n  %y : int = aten::nonsense.y(%x)\n",
         "line 3: there is no operator 'aten::nonsense.y'"},
        {"unknown_type", "graph(%x : Foo):", "line 1: unknown type 'Foo'"},
        {"no_such_tensor", "graph():\n %x : Tensor = prim::Constant[tensor=0]()",
         "line 2: there is no tensor constant 0"},
        {"missing_attribute", "graph():\n %x : int = prim::Constant()", "line 2: expected '[', found '()'"},
        {"wrong_element", "graph():\n %x : int[] = prim::Constant[value=[1.5]]()",
         "line 2: element does not fit a list of int"},
        {"open_string", "graph():\n %x : str = prim::Constant[value=\"a", "line 2: string without end"},
        {"no_return", "graph():\n", "line 2: expected 'return', found the end"},
        {"text_after_end", "graph():\n return ()\n more", "line 3: text after the end, found 'more'"},
    }),
    [](const auto& info) { return info.param.name; });

// A graph with a block each, that tests then break.
std::unique_ptr<Graph> whole() {
  return parse_graph(R"(graph(%x : Tensor, %c : bool, %n : int):
    %one : int = prim::Constant[value=1]()
    %y : Tensor = prim::If(%c)
      block0():
        %inner : Tensor = aten::add.Tensor(%x, %x, %one)
        -> (%inner)
      block1():
        -> (%x)
    %z : Tensor = prim::Loop(%n, %c, %y)
      block0(%i : int, %k : Tensor):
        -> (%c, %k)
    return (%z))");
}

Node* find(Graph& graph, std::string_view name) {
  Node* found = nullptr;
  for_each_node(graph.root(), [&](Node* node) {
    if (node->display_name() == name) found = node;
  });
  return found;
}

void expect_broken(const Graph& graph, const std::string& part) {
  try {
    verify(graph);
    ADD_FAILURE() << "was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::kInternal);
    EXPECT_NE(error.message.find(part), std::string::npos) << error.message;
  }
}

TEST(Verifier, accepts_a_whole_graph) { EXPECT_NO_THROW(verify(*whole())); }

TEST(Verifier, refuses_a_value_of_a_block_outside_it) {
  auto graph = whole();
  graph->set_result(&graph->root(), 0, find(*graph, "aten::add.Tensor")->output());
  expect_broken(*graph, "%inner is used where it is not defined");
}

TEST(Verifier, refuses_a_use_before_the_definition) {
  auto graph = whole();
  graph->set_input(find(*graph, "prim::If"), 0, find(*graph, "prim::Loop")->output());
  expect_broken(*graph, "prim::If that makes %y: %z is used where it is not defined");
}

TEST(Verifier, refuses_a_use_that_is_not_listed) {
  auto graph = whole();
  graph->inputs()[0]->uses.pop_back();
  expect_broken(*graph, "%x lists 2 uses, but has 3");
}

TEST(Verifier, refuses_a_listed_use_that_does_not_exist) {
  auto graph = whole();
  graph->inputs()[0]->uses[0].index = 7;
  expect_broken(*graph, "%x lists a use that does not exist");
}

TEST(Verifier, refuses_a_wrong_number_of_arguments) {
  auto graph = whole();
  graph->remove_input(find(*graph, "aten::add.Tensor"), 2);
  expect_broken(*graph, "aten::add.Tensor that makes %inner: wrong number of inputs");
}

TEST(Verifier, refuses_blocks_without_the_results_of_their_node) {
  auto graph = whole();
  graph->remove_result(find(*graph, "prim::If")->blocks[1], 0);
  expect_broken(*graph, "each block of If has one result per output");
}

TEST(Verifier, refuses_a_loop_that_forgets_a_carried_value) {
  auto graph = whole();
  graph->remove_result(find(*graph, "prim::Loop")->blocks[0], 1);
  expect_broken(*graph, "one result per carried value");
}

TEST(Verifier, refuses_results_that_can_not_be_of_the_type) {
  auto graph = whole();
  graph->set_result(find(*graph, "prim::If")->blocks[1], 0, graph->inputs()[2]);
  expect_broken(*graph, "the result %n is int, but %y is Tensor");
}

TEST(Verifier, accepts_results_of_a_narrower_type) {
  auto graph = parse_graph(R"(graph(%x : Tensor, %c : bool):
    %none : None = prim::Constant[value=None]()
    %y : Tensor? = prim::If(%c)
      block0():
        -> (%x)
      block1():
        -> (%none)
    return (%y))");
  EXPECT_NO_THROW(verify(*graph));
}

TEST(Verifier, refuses_a_wrong_owner) {
  auto graph = whole();
  find(*graph, "aten::add.Tensor")->owner = &graph->root();
  expect_broken(*graph, "a node knows the block it stands in");
}

TEST(Verifier, refuses_a_wrong_position) {
  auto graph = whole();
  find(*graph, "aten::add.Tensor")->position = find(*graph, "prim::If")->position;
  expect_broken(*graph, "a node knows its position");
}

TEST(Graph, erasing_a_node_takes_its_blocks_and_uses_with_it) {
  auto graph = whole();
  Node* branch = find(*graph, "prim::If");
  graph->replace_uses(branch->output(), graph->inputs()[0]);
  graph->erase(branch);
  EXPECT_NO_THROW(verify(*graph));
  EXPECT_EQ(find(*graph, "aten::add.Tensor"), nullptr);
}

TEST(Graph, removing_an_input_renumbers_the_uses_behind_it) {
  auto graph = parse_graph(R"(graph(%a : Tensor, %b : Tensor, %d : int):
    %c : Tensor = prim::VarCat(%a, %b, %a, %d)
    return (%c))");
  graph->remove_input(find(*graph, "prim::VarCat"), 1);
  EXPECT_NO_THROW(verify(*graph));
}

}  // namespace
}  // namespace stator
