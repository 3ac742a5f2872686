// What a model file becomes: one graph per method over one table of attributes. Both front ends produce a Program.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/error.h"
#include "graph/graph.h"
#include "graph/input_contract.h"
#include "graph/saved_plans.h"

namespace stator {

// An attribute, parameter or buffer of the module or of a submodule. LoadState and StoreState name it by its index.
struct StateSlot {
  std::string name;  // path from the root: "encoder.0.weight"
  c10::TypePtr type;
  c10::IValue value;  // the file's; never written
};

struct Parameter {
  std::string name;
  c10::TypePtr type;
  std::optional<c10::IValue> default_value;
};

struct Method {
  std::string name;
  std::vector<Parameter> parameters;  // one per graph input
  c10::TypePtr result;
  InputContract contract;            // of exported programs
  std::unique_ptr<Graph> graph;      // NULL if unsupported
  std::optional<Error> unsupported;  // why the method cannot run; the module's other methods can
};

struct Program {
  std::string format;     // "torchscript", "export"
  bool training = false;  // the file was saved in training mode
  std::vector<Method> methods;
  std::vector<StateSlot> slots;
  std::shared_ptr<const void> keep_alive;  // compiled classes of the objects in it
  std::optional<SavedPlans> saved;         // of a planned file, whose graphs need no passes any more
};

}  // namespace stator
