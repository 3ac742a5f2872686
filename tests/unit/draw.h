// Whole numbers from a seed, the same on every machine.
#pragma once

#include <cstdint>
#include <random>

namespace stator::test {

class Draw {
 public:
  explicit Draw(uint32_t seed) : engine_(seed) {}
  int64_t operator()(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(engine_() % static_cast<uint64_t>(most - least + 1));
  }

 private:
  std::mt19937 engine_;
};

}  // namespace stator::test
