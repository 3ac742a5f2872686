// The boundary: what every exported function that can fail runs in. Nothing is thrown past it.
#pragma once

#include <string>

#include "graph/error.h"
#include "stator/stator.h"

namespace stator::capi {

// A status for the exception that is being handled.
stator_status* status_of_current_exception() noexcept;

template <class F>
stator_status* guarded(F&& body) noexcept {
  try {
    body();
    return nullptr;
  } catch (...) {
    return status_of_current_exception();
  }
}

// Throws Error(kInvalidArgument) that names the parameter.
[[noreturn]] void refuse(const char* parameter, const char* what);

inline void require(bool condition, const char* parameter, const char* what) {
  if (!condition) [[unlikely]]
    refuse(parameter, what);
}

inline void require_handle(const void* handle, const char* parameter) {
  require(handle != nullptr, parameter, "is NULL");
}

}  // namespace stator::capi
