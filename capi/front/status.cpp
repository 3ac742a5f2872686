// Statuses: one block of malloc each, or the static one that stands for "no memory left to say so".
#include "front/status.h"

#include "stator/stator_experimental.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>

namespace stator::front {
namespace {

constinit stator_status out_of_memory{STATOR_OUT_OF_MEMORY, "the system has no more memory", "", "", "", "", ""};
constinit std::atomic<int64_t> live{0};

}  // namespace

stator_status *make_status(int32_t code, const char *message, const char *op, const char *node, const char *source,
                           const char *argument, const char *exception) noexcept {
  const std::array<const char *, 6> texts{message, op, node, source, argument, exception};
  std::array<size_t, 6> sizes{};
  size_t bytes = sizeof(stator_status);
  for (size_t i = 0; i < texts.size(); ++i) bytes += sizes[i] = (texts[i] != nullptr ? std::strlen(texts[i]) : 0) + 1;
  auto *block = static_cast<char *>(std::malloc(bytes));
  if (block == nullptr) return &out_of_memory;
  std::array<const char *, 6> copies{};
  char *next = block + sizeof(stator_status);
  for (size_t i = 0; i < texts.size(); ++i) {
    std::memcpy(next, texts[i] != nullptr ? texts[i] : "", sizes[i]);
    copies[i] = next;
    next += sizes[i];
  }
  live.fetch_add(1, std::memory_order_relaxed);
  return new (block) stator_status{code, copies[0], copies[1], copies[2], copies[3], copies[4], copies[5]};
}

int64_t live_statuses() noexcept { return live.load(std::memory_order_relaxed); }

}  // namespace stator::front

extern "C" {

int32_t stator_status_code(const stator_status *status) { return status != nullptr ? status->code : STATOR_OK; }
const char *stator_status_message(const stator_status *status) { return status != nullptr ? status->message : ""; }
const char *stator_status_operator(const stator_status *status) { return status != nullptr ? status->op : ""; }
const char *stator_status_node(const stator_status *status) { return status != nullptr ? status->node : ""; }
const char *stator_status_source(const stator_status *status) { return status != nullptr ? status->source : ""; }
const char *stator_status_argument(const stator_status *status) { return status != nullptr ? status->argument : ""; }
const char *stator_status_exception(const stator_status *status) { return status != nullptr ? status->exception : ""; }

stator_status *stator_status_create(int32_t code, const char *message) {
  using stator::front::make_status;
  if (message == nullptr)
    return make_status(STATOR_INVALID_ARGUMENT, "parameter \"message\" is NULL", nullptr, nullptr, nullptr, "message");
  if (code == STATOR_OK)
    return make_status(STATOR_INVALID_ARGUMENT, "parameter \"code\" is STATOR_OK, which is no error", nullptr, nullptr,
                       nullptr, "code");
  return make_status(code, message);
}

// In a forked child too: a status holds nothing of LibTorch.
void stator_status_release(stator_status *status) {
  if (status == nullptr || status == &stator::front::out_of_memory) return;
  stator::front::live.fetch_sub(1, std::memory_order_relaxed);
  std::free(status);
}

}  // extern "C"
