// Which slots of a plan may still be read when a run has come to an instruction.
#pragma once

#include <vector>

#include "plan/plan.h"

namespace stator {

class Liveness {
 public:
  explicit Liveness(const Plan& plan);

  // In no order.
  std::vector<int32_t> before(int32_t pc) const;

 private:
  std::vector<std::vector<bool>> live_;  // by instruction and behind the last, by slot
};

}  // namespace stator
