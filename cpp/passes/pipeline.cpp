#include "passes/pipeline.h"

#include <array>

#include "graph/error.h"
#include "graph/verifier.h"
#include "passes/dead_code.h"
#include "passes/expand_transformer.h"
#include "passes/fold_batch_norm.h"
#include "passes/fold_constants.h"
#include "passes/forward_tuples.h"
#include "passes/freeze.h"
#include "passes/size_tensors.h"
#include "passes/variadic.h"

namespace stator {
namespace {

struct Pass {
  const char* name;
  bool (*run)(Graph&);
};

// Folding first: it takes away branches, and with them uses that hold others up.
constexpr std::array<Pass, 7> kPasses{{
    {"fold_constants", fold_constants},
    {"forward_tuples", forward_tuples},
    {"size_tensors", size_tensors},
    {"fold_batch_norm", fold_batch_norm},
    {"expand_transformer", expand_transformer},
    {"variadic", variadic},
    {"dead_code", dead_code},
}};

constexpr int kMostRounds = 8;

void check([[maybe_unused]] const Graph& graph, [[maybe_unused]] const char* after) {
#if !defined(NDEBUG) || defined(STATOR_ASSERTIONS)
  try {
    verify(graph);
  } catch (const Error& error) {
    throw Error(error.code, std::string("after ") + after + ": " + error.message, error.place);
  }
#endif
}

}  // namespace

void optimize(Graph& graph) {
  check(graph, "import");
  bool changed = true;
  for (int round = 0; changed && round < kMostRounds; ++round) {
    changed = false;
    for (const Pass& pass : kPasses) {
      changed |= pass.run(graph);
      check(graph, pass.name);
    }
  }
}

void optimize(Program& program) {
  freeze(program);
  do {
    for (Method& method : program.methods) {
      if (method.graph) optimize(*method.graph);
    }
  } while (freeze(program));
}

}  // namespace stator
