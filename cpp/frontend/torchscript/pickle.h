// torch.save's file format, by LibTorch's own pickler.
#pragma once

#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

namespace stator {

// Errors: kBadModel (damaged), kUnsupported (classes). `name` is for messages.
c10::IValue unpickle(const std::vector<char>& bytes, const std::string& name);
std::vector<char> pickle(const c10::IValue& value);

}  // namespace stator
