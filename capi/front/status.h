// Makes statuses for both libraries and counts them.
#pragma once

#include <cstdint>
#include <string>

#include "status_layout.h"

namespace stator::front {

// Texts are copied, NULL is "". Never fails: without memory it is the static OUT_OF_MEMORY status.
stator_status *make_status(int32_t code, const char *message, const char *op = nullptr, const char *node = nullptr,
                           const char *source = nullptr, const char *argument = nullptr,
                           const char *exception = nullptr) noexcept;

int64_t live_statuses() noexcept;

// Why the front refuses a call; caught at the boundary and turned into a status.
struct Refusal {
  int32_t code;
  std::string message;
};

}  // namespace stator::front
