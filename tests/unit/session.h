// A module made of a graph written as text, with a runtime and an arena to run it.
#pragma once

#include "runtime/runtime.h"
#include "test_module.h"

namespace stator::test {

struct Session {
  explicit Session(std::string_view graph, const std::vector<at::Tensor>& state = {}, RuntimeOptions options = {})
      : module(make_module(graph, {}, state)), runtime(module, private_on_one_thread(options)), arena(module) {}

  c10::IValue run(const std::vector<c10::IValue>& arguments) {
    runtime.call(*module->methods()[0], arguments, {}, arena);
    return arena.result();
  }

  std::shared_ptr<StaticModule> module;
  StaticRuntime runtime;
  Arena arena;

 private:
  static RuntimeOptions private_on_one_thread(RuntimeOptions options) {
    options.intra_op_threads = 1;
    options.state = StateSharing::kPrivate;
    return options;
  }
};

}  // namespace stator::test
