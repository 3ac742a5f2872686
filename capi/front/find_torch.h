// Finds and opens LibTorch, and asks it for its version.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace stator::front {

struct Torch {
  std::string path;  // of libtorch_cpu.so
  std::array<int32_t, 3> version;
};

// `given` is the folder that the caller named, or "": then a libtorch_cpu that the process holds, places relative to `own_folder`, and the
// loader are tried in this order. Throws Refusal; a LibTorch of another minor than `wanted` is closed again as far as it allows.
Torch open_torch(const std::string &given, const std::string &own_folder, std::array<int32_t, 2> wanted);

}  // namespace stator::front
