// The one exception type of the core. The C ABI turns it into a status; nothing else crosses the boundary.
#pragma once

#include <exception>
#include <string>
#include <utility>

namespace stator {

// The numbers are those of stator.h (checked there by static_assert).
enum class ErrorCode : int {
  kInvalidArgument = 100,
  kNotFound = 101,
  kBusy = 102,
  kTimeout = 103,
  kInputMissing = 105,
  kShapeMismatch = 106,
  kDtypeMismatch = 107,
  kTypeMismatch = 108,
  kCancelled = 109,
  kIo = 200,
  kBadModel = 201,
  kUnsupported = 202,
  kModelError = 400,
  kOperatorError = 401,
  kMemoryLimit = 500,
  kOutOfMemory = 501,
  kInternal = 600,
};

// Where an error happened. Empty fields do not apply.
struct ErrorPlace {
  std::string op = {};        // "aten::bmm"
  std::string node = {};      // number of the node in the plan
  std::string source = {};    // model.py:41 "torch.bmm(a, b)"
  std::string argument = {};  // input "x" (argument 1)
  std::string raised = {};    // type of the exception that the model raised: "ValueError"
};

class Error : public std::exception {
 public:
  Error(ErrorCode code, std::string message, ErrorPlace place = {})
      : code(code), message(std::move(message)), place(std::move(place)) {}
  const char* what() const noexcept override { return message.c_str(); }

  ErrorCode code;
  std::string message;
  ErrorPlace place;
};

}  // namespace stator
