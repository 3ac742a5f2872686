// The arguments of a run: from a file, or made up from given shapes.
#pragma once

#include <string>
#include <vector>

#include "handles.h"
#include "model.h"

namespace cli {

struct InputOptions {
  std::string file;                 // --inputs
  std::vector<std::string> shapes;  // --shape
};

// One value per input of the method; NULL where the method's default is meant.
using Arguments = std::vector<ValuePtr>;

// A list or tuple gives arguments by position, a dict by name (arr_0, arr_1, ... by position, as numpy.savez names them), a tensor the
// only one. Arrays of no dimension become numbers where the method takes int, float or bool, since .npz files hold arrays only.
// Throws UsageError if --inputs and --shape leave a required input out, Failure if the file does.
Arguments read_arguments(const std::vector<Input>& inputs, const InputOptions& options);

// For stator_runtime_call(): the arguments up to the first default by position, the others by name.
struct CallArguments {
  ValuePtr args;
  ValuePtr kwargs;
};
CallArguments call_arguments(const std::vector<Input>& inputs, const Arguments& arguments);

// float32[1,32], 5, 0.5, true, none; for an input of type str the text itself. Tensor elements are random, the same each time.
ValuePtr make_value(const std::string& spec, const std::string& type, uint64_t seed);

}  // namespace cli
