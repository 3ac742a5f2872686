// The random numbers of a test are its own: the same in whatever order tests run, and whatever tests there are besides. Others with
// --gtest_shuffle, by its seed.
#include <ATen/Context.h>
#include <gtest/gtest.h>

namespace stator {
namespace {

class Seeds final : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo&) override {
    at::manual_seed(1 + testing::UnitTest::GetInstance()->random_seed());
  }
};

[[maybe_unused]] const bool seeds = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new Seeds);
  return true;
}();

}  // namespace
}  // namespace stator
