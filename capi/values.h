// Values at the boundary, and the general path of calling a method with them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "handles.h"

namespace stator::capi {

// Runs a method on a tuple or list of arguments and a dict of keyword arguments, either may be NULL.
std::unique_ptr<stator_value> call(StaticRuntime& runtime, const StaticMethod& method, const stator_value* args,
                                   const stator_value* kwargs, Arena& arena);

// A tuple or list of arguments and a dict of keyword arguments, either may be NULL, taken apart.
struct Arguments {
  std::vector<c10::IValue> positional;
  std::vector<std::pair<std::string, c10::IValue>> named;
};
Arguments read_arguments(const stator_value* args, const stator_value* kwargs);

// The same value, whose tensors keep the lease as long as they live. Without a lease the value itself.
c10::IValue hold_lease(const c10::IValue& value, const Lease& lease);

std::unique_ptr<stator_value> make_value(c10::IValue value, Lease lease = {});

// STATOR_KIND_*
int32_t kind_of(const c10::IValue& value);

// A reference for the time of a call.
template <class T>
class Retained {
 public:
  explicit Retained(T* handle) : handle_(handle) { retain(handle_); }
  ~Retained() { release(handle_); }
  Retained(const Retained&) = delete;
  Retained& operator=(const Retained&) = delete;

 private:
  T* handle_;
};

}  // namespace stator::capi
