// Owners of the C ABI's handles, and errors as exceptions: the command line sees libstator through these alone.
#pragma once

#include <stator/stator.h>
#include <stator/stator_experimental.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace cli {

template <auto release>
struct Release {
  template <class T>
  void operator()(T* handle) const {
    release(handle);
  }
};

using Status = std::unique_ptr<stator_status, Release<stator_status_release>>;
using Bytes = std::unique_ptr<stator_bytes, Release<stator_bytes_release>>;
using Options = std::unique_ptr<stator_options, Release<stator_options_release>>;
using Module = std::unique_ptr<stator_module, Release<stator_module_release>>;
using Runtime = std::unique_ptr<stator_runtime, Release<stator_runtime_release>>;
using Arena = std::unique_ptr<stator_arena, Release<stator_arena_release>>;
using ValuePtr = std::unique_ptr<stator_value, Release<stator_value_release>>;

// A failed call of the library, or the same found here. Exit code 1.
struct Failure : std::runtime_error {
  Failure(int32_t code, const std::string& message) : std::runtime_error(message), code(code) {}
  explicit Failure(const stator_status* status)
      : std::runtime_error(stator_status_message(status)),
        code(stator_status_code(status)),
        op(stator_status_operator(status)),
        node(stator_status_node(status)),
        source(stator_status_source(status)),
        argument(stator_status_argument(status)) {}

  int32_t code;
  std::string op;
  std::string node;
  std::string source;
  std::string argument;
};

// A command line that cannot be carried out as it stands. Exit code 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void check(stator_status* status) {
  if (status == nullptr) return;
  const Status owner(status);
  throw Failure(status);
}

// make<Module>(stator_module_load, path, nullptr): the handle that a call puts into its last parameter.
template <class Owner, class Function, class... Arguments>
Owner make(Function function, Arguments... arguments) {
  typename Owner::pointer handle = nullptr;
  check(function(arguments..., &handle));
  return Owner(handle);
}

// Text that a call puts into its last parameter.
template <class Function, class... Arguments>
std::string text_of(Function function, Arguments... arguments) {
  const Bytes bytes = make<Bytes>(function, arguments...);
  return std::string(static_cast<const char*>(stator_bytes_data(bytes.get())),
                     static_cast<size_t>(stator_bytes_size(bytes.get())));
}

}  // namespace cli
