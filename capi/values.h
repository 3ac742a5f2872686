// Values at the boundary, and the general path of calling a method with them.
#pragma once

#include <memory>

#include "handles.h"

namespace stator::capi {

// Runs a method on a tuple or list of arguments and a dict of keyword arguments, either may be NULL.
std::unique_ptr<stator_value> call(StaticRuntime& runtime, const StaticMethod& method, const stator_value* args,
                                   const stator_value* kwargs, Arena& arena);

// The same value, whose tensors keep the lease as long as they live. Without a lease the value itself.
c10::IValue hold_lease(const c10::IValue& value, const Lease& lease);

std::unique_ptr<stator_value> make_value(c10::IValue value, Lease lease = {});

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
