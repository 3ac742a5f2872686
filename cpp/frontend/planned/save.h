// Writes Stator's planned files: a zip archive of aligned, uncompressed records, so that weights can be mapped where they lie.
//
//   archive/stator/manifest.json   the format's number, who made it
//   archive/stator/program.json    tables of types, tensors, values, operators and sources; state, methods and their graphs after all passes
//   archive/stator/plans.json      what plans are made of; which tensors are weights in forms for kernels
//   archive/stator/memory/0 ...    the memory of tensors
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/program.h"
#include "graph/saved_plans.h"

namespace stator {

// A program that somebody else owns.
struct ProgramView {
  std::string format;
  bool training = false;
  std::vector<const Method*> methods;
  std::span<const StateSlot> slots;
};

// The file at `path` is replaced when all is written, so that who has mapped it keeps what it was. Throws Error(kIo), or
// Error(kUnsupported) for what has no form in a file: it is named.
void save_planned(const std::string& path, const ProgramView& program, const SavedPlans& saved);

}  // namespace stator
