// What an exported program expects of its inputs (graph/input_contract.h), as JSON.
#pragma once

#include "frontend/planned/values.h"
#include "graph/input_contract.h"

namespace stator::planned {

Json write_contract(const InputContract& contract, ValueWriter& values);
InputContract read_contract(const Json& json, const ValueReader& values, size_t parameters);

}  // namespace stator::planned
