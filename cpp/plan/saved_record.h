// A signature and the recorded run of it as a list of numbers: a signature plan can be made of it in another process, without a run.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plan/recording.h"
#include "plan/signature.h"

namespace stator {

std::vector<int64_t> write_record(const Plan& plan, const InputSignature& signature, const Recording& recording);

struct SavedRecord {
  InputSignature signature;
  Recording recording;
};

// nullopt unless it is of a run that `plan` could have done: the numbers may come from anywhere.
std::optional<SavedRecord> read_record(const Plan& plan, std::span<const int64_t> numbers);

}  // namespace stator
