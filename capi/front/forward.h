// How a call of libstator.so reaches the core: two loads, a branch and a jump.
//
// The core's table is copied into a page of its own, which the kernel wipes in a forked child (MADV_WIPEONFORK). So an empty entry means
// "not opened yet" or "forked", and only then anything else is looked at. Where the kernel cannot wipe, the page stays empty and
// every call takes the slow path, which compares process ids.
#pragma once

#include <atomic>
#include <type_traits>

#include "front/services.h"
#include "front/table.gen.h"

namespace stator::front {

extern std::atomic<const void *const *> page;  // kCoreCount entries

// The function of the core; opens the core if that has not happened. NULL after a fork or if it cannot be opened, with *refused set.
const void *open_core(int index, stator_status **refused) noexcept;

// The function of the core, also in a forked child; NULL if the core is not open.
const void *core_if_open(int index) noexcept;

bool forked() noexcept;

// stator_torch_load().
stator_status *open_core_with(const char *torch_folder) noexcept;

template <class Function>
Function *as(const void *address) {
  return reinterpret_cast<Function *>(const_cast<void *>(address));
}

// What the front answers when it does not reach the core: a status that says why; nothing for retain and release (without a core there
// are no objects, and a child must leave its parent's alone); 0 or NULL for getters, which only read and so do reach it in a child.
template <int index, class Result, class... Arguments>
[[gnu::noinline]] Result forward_slowly(Arguments... arguments) {
  const void *function = nullptr;
  if constexpr (std::is_same_v<Result, stator_status *>) {
    stator_status *refused = nullptr;
    function = open_core(index, &refused);
    if (function == nullptr) return refused;
  } else {
    if (!std::is_void_v<Result> || !forked()) function = core_if_open(index);
    if (function == nullptr) return Result();
  }
  return as<Result(Arguments...)>(function)(arguments...);
}

template <int index, class Result, class... Arguments>
inline Result forward(Result (*)(Arguments...), std::type_identity_t<Arguments>... arguments) {
  const void *function = page.load(std::memory_order_acquire)[index];
  if (function == nullptr) [[unlikely]]
    return forward_slowly<index, Result, Arguments...>(arguments...);
  return as<Result(Arguments...)>(function)(arguments...);
}

}  // namespace stator::front
