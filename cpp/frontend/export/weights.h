// Parameters, buffers and constants: raw memory of whole storages beside a table that says what lies where.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>

#include "frontend/export/records.h"

namespace stator::exported {

// By path: "encoder.0.weight". Tensors of one storage share it. With `borrow` they point into the archive where it is aligned.
std::map<std::string, at::Tensor> read_weights(const Records& records, bool borrow);

}  // namespace stator::exported
