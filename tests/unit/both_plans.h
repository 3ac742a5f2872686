// The same graph with signature plans and without, side by side: results are compared, kernels counted.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <map>

#include "ops_frame.h"
#include "runtime/runtime.h"
#include "test_module.h"

namespace stator::test {

inline std::atomic<int> executed{0};
inline std::map<const void*, BoundKernel> counted_kernels;  // by specification

inline bool counted(const void* specification, void* const* addresses) {
  ++executed;
  return counted_kernels.at(specification)(specification, addresses);
}

inline void count_kernels(const SignaturePlan& plan) {
  for (const SignatureStep& step : plan.steps) {
    if (!step.kernel || step.kernel == counted) continue;
    counted_kernels[step.specification.get()] = step.kernel;
    const_cast<SignatureStep&>(step).kernel = counted;  // made by make_shared, so not const in truth
  }
}

// A module and one runtime of it.
struct Side {
  Side(std::string_view text, bool signature_plans, const std::vector<at::Tensor>& state, int threads = 1)
      : module(make_module(text, {.signature_plans = signature_plans}, state)),
        runtime(module, {.intra_op_threads = threads, .state = StateSharing::kPrivate}),
        arena(module) {}

  const StaticMethod& method() const { return *module->methods()[0]; }
  c10::IValue run(const Arguments& arguments) {
    runtime.call(method(), arguments, {}, arena);
    return arena.result();
  }

  std::shared_ptr<StaticModule> module;
  StaticRuntime runtime;
  Arena arena;
};

// The same graph with signature plans and without.
class Both {
 public:
  explicit Both(std::string_view text, std::vector<at::Tensor> state = {})
      : bound(text, true, state), dynamic(text, false, state) {}

  // Runs both on copies of the arguments and compares results and arguments. The number of bound kernels that ran.
  int run(const Arguments& arguments) {
    Arguments theirs, ours;
    for (const c10::IValue& argument : arguments) {
      theirs.push_back(deep_copy(argument));
      ours.push_back(deep_copy(argument));
    }
    for (const auto& plan : plans()) count_kernels(*plan);
    const int before = executed;
    compare(dynamic.run(theirs), bound.run(ours));
    for (size_t i = 0; i < arguments.size(); ++i) expect_same(theirs[i], ours[i], "argument " + std::to_string(i));
    return executed - before;
  }
  // The same until a plan has been made and used; of the last run.
  int run_often(const Arguments& arguments) {
    int count = 0;
    for (int i = 0; i < 5; ++i) count = run(arguments);
    return count;
  }

  std::vector<std::shared_ptr<const SignaturePlan>> plans() const { return bound.method().signatures()->plans(); }

  Side bound, dynamic;

 private:
  static void compare(const c10::IValue& expected, const c10::IValue& actual) {
    if (!expected.isTuple()) return expect_same(expected, actual, "result");
    const auto &a = expected.toTupleRef().elements(), &b = actual.toTupleRef().elements();
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) expect_same(a[i], b[i], "result " + std::to_string(i));
  }
};

}  // namespace stator::test
