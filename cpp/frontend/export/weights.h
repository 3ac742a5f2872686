// Parameters, buffers and constants: raw memory of whole storages beside a table that says what lies where, and pickled objects.
#pragma once

#include <ATen/core/ivalue.h>

#include <map>
#include <string>

#include "frontend/export/records.h"

namespace stator::exported {

// By path: "encoder.0.weight". Tensors of one storage share it. With `borrow` they point into the archive where it is aligned. Other values
// are objects of classes in C++; those of Python's are not there.
std::map<std::string, c10::IValue> read_weights(const Records& records, bool borrow);

}  // namespace stator::exported
