// What the records of a planned file are called.
#pragma once

#include <string>

namespace stator::planned {

// Raised whenever an older library could not read what is written.
constexpr int64_t kFormat = 1;

constexpr const char* kManifest = "stator/manifest.json";
constexpr const char* kProgram = "stator/program.json";
constexpr const char* kPlans = "stator/plans.json";

inline std::string memory_record(size_t index) { return "stator/memory/" + std::to_string(index); }

}  // namespace stator::planned
