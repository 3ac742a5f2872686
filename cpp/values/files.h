// Values in files: `.npz`, and what torch.save writes and torch.load reads.
#pragma once

#include <ATen/core/ivalue.h>

#include <string>

namespace stator {

// `.npz` if the name ends so: a dict in the order of the file. Else what torch.save wrote.
// Errors: kNotFound, kIo, kBadModel (damaged), kUnsupported (what it holds).
c10::IValue read_value(const std::string& path);

// `.npz` if the name ends so, for a tensor ("arr_0"), or a list, tuple or dict of tensors; else torch.save's format.
// Errors: kIo, kUnsupported.
void write_value(const c10::IValue& value, const std::string& path);

}  // namespace stator
