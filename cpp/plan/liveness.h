// Which slots of a plan may still be read when a run has come to an instruction.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace stator {

class Liveness {
 public:
  explicit Liveness(const Plan& plan);

  // In no order.
  std::vector<int32_t> before(int32_t pc) const;

 private:
  using Slots = std::vector<uint64_t>;  // a bit each
  std::vector<Slots> live_;             // by instruction and behind the last
};

}  // namespace stator
