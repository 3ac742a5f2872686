// What a bound kernel is: a function over raw addresses, sizes and numbers that are fixed before it runs. No Tensor, no dispatcher, no
// reference count; it cannot fail and does not allocate.
//
// What each entry means is said where the kernel is declared (table.h). Whoever fills the arguments owns the memory behind the addresses.
#pragma once

#include <array>
#include <cstdint>

namespace stator {

constexpr int kMostBoundInputs = 3;

// What a plan fixes.
struct BoundConstants {
  std::array<int64_t, 6> sizes{};
  std::array<float, 2> numbers{};
};

// The same for one runtime, which knows the addresses.
struct BoundArguments {
  BoundConstants constants;
  std::array<const void*, kMostBoundInputs> inputs{};
  void* output = nullptr;
};

using BoundKernel = void (*)(const BoundArguments&);

}  // namespace stator
