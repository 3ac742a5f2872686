// A module whose one method, "forward", is a graph written as text.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graph/parser.h"
#include "runtime/module.h"

namespace stator::test {

inline std::shared_ptr<StaticModule> make_module(std::string_view text, const ModuleOptions& options = {},
                                                 const std::vector<at::Tensor>& state = {}) {
  Program program;
  program.format = "test";
  for (const at::Tensor& value : state) {
    program.slots.push_back({"state" + std::to_string(program.slots.size()), c10::TensorType::get(), value});
  }
  Method method{
      .name = "forward", .parameters = {}, .result = nullptr, .graph = parse_graph(text), .unsupported = std::nullopt};
  for (const Value* input : method.graph->inputs())
    method.parameters.push_back({input->name, input->type, std::nullopt});
  method.result = method.graph->outputs()[0]->type;
  program.methods.push_back(std::move(method));
  return std::make_shared<StaticModule>(std::move(program), options);
}

}  // namespace stator::test
