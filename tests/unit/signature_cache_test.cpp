// Which signatures get plans, and when.
#include "runtime/signature_cache.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace stator {
namespace {

InputSignature of_length(int64_t length) {
  const std::vector<c10::IValue> inputs{at::empty({length})};
  return InputSignature(RunValues{inputs, {}, {}, false});
}

SignatureCache make_cache(SignatureCache::When when = SignatureCache::When::kSecondSight) {
  return SignatureCache(std::make_shared<PackedWeights>(), nullptr, when, 64);
}

// What a run with this signature does: true if it made a plan.
bool run(SignatureCache& cache, int64_t length) {
  InputSignature signature = of_length(length);
  if (!cache.find(signature).make) return false;
  cache.add(std::make_shared<SignaturePlan>(SignaturePlan{.dynamic = nullptr, .signature = std::move(signature)}));
  return true;
}

TEST(SignatureCache, makes_a_plan_at_the_second_sight) {
  SignatureCache cache = make_cache();
  EXPECT_FALSE(run(cache, 1));
  EXPECT_FALSE(run(cache, 2));
  EXPECT_TRUE(run(cache, 1));
  EXPECT_FALSE(run(cache, 1));
  EXPECT_NE(nullptr, cache.find(of_length(1)).plan);
  EXPECT_EQ(nullptr, cache.find(of_length(3)).plan);
}

TEST(SignatureCache, makes_a_plan_at_once_where_that_is_asked_for) {
  SignatureCache eager = make_cache(SignatureCache::When::kAtOnce);
  EXPECT_TRUE(run(eager, 1));
  SignatureCache cache = make_cache();
  EXPECT_TRUE(cache.find_at_once(of_length(1)).make);
}

TEST(SignatureCache, asks_one_caller_only) {
  SignatureCache cache = make_cache();
  const InputSignature signature = of_length(1);
  cache.find(signature);
  EXPECT_TRUE(cache.find(signature).make);
  EXPECT_FALSE(cache.find(signature).make);
  EXPECT_FALSE(cache.find_at_once(signature).make);
  cache.give_up(signature);
  EXPECT_TRUE(cache.find(signature).make);
  cache.refuse(signature);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(cache.find(signature).make);
}

TEST(SignatureCache, backs_off_where_plans_are_not_used_and_serves_what_comes_to_stay) {
  SignatureCache cache = make_cache();
  int64_t made = 0;
  for (int64_t length = 0; length < 2000; ++length) {
    for (int sight = 0; sight < 2; ++sight) made += run(cache, length) ? 1 : 0;
  }
  EXPECT_EQ(64, made) << "of 2000 signatures that are seen twice and never again";
  int64_t sights = 1;
  while (!run(cache, 5000) && sights < 100) ++sights;
  EXPECT_LE(sights, 16);
  // Hits earn what plans cost.
  for (int i = 0; i < 64; ++i) run(cache, 5000);
  made = 0;
  for (int64_t length = 6000; length < 6100; ++length) {
    for (int sight = 0; sight < 2; ++sight) made += run(cache, length) ? 1 : 0;
  }
  EXPECT_EQ(4, made);
}

TEST(SignatureCache, keeps_no_more_than_its_limit) {
  SignatureCache cache = make_cache(SignatureCache::When::kAtOnce);
  for (int64_t length = 0; length < 100; ++length) run(cache, length);
  EXPECT_EQ(64u, cache.plans().size());
  EXPECT_EQ(36, cache.evictions());
}

}  // namespace
}  // namespace stator
