// Any text as the JSON of an exported program: what is read becomes a sound graph, or it is refused.

#include <ATen/ATen.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/export/method.h"
#include "frontend/export/schema_reader.h"
#include "graph/error.h"
#include "graph/verifier.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace stator;
  static const at::Tensor weight = at::zeros({2, 2});
  try {
    const auto program = exported::read_program({reinterpret_cast<const char*>(data), size});
    std::map<std::string, c10::IValue> weights;
    for (const auto& spec : program.input_specs) weights.emplace(spec.target, weight);
    std::vector<StateSlot> slots;
    const Method method = exported::import_method(program, weights, slots);
    verify(*method.graph);
  } catch (const Error& error) {
    if (error.code == ErrorCode::kInternal) throw;
  } catch (const c10::Error&) {  // load_export() makes an Error of it
  }
  return 0;
}
