// Which signatures get plans, and when.
#include "runtime/signature_cache.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace stator {
namespace {

InputSignature of_length(int64_t length) {
  const std::vector<c10::IValue> inputs{at::empty({length})};
  return InputSignature(RunValues{inputs, {}, {}, false});
}

SignatureCache make_cache(SignatureCache::When when = SignatureCache::When::kSecondSight) {
  return SignatureCache(std::make_shared<PackedWeights>(), nullptr, when, 64);
}

// What a run with this signature does, which takes so long without a plan: true if it made one.
bool run(SignatureCache& cache, int64_t length, Ticks time = 100) {
  InputSignature signature = of_length(length);
  const SignatureCache::Found found = cache.find(signature);
  if (!found.plan && !found.make) cache.took(signature, time);
  if (!found.make) return false;
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
  EXPECT_GE(made, 24) << "of 2000 signatures that are seen twice and never again";
  EXPECT_LE(made, 80);
  int64_t sights = 1;
  while (!run(cache, 5000) && sights < 100) ++sights;
  EXPECT_LE(sights, 64);
  // What is earned meanwhile is there for what is worth it.
  for (int64_t length = 6000; length < 7000; ++length) run(cache, length);
  made = 0;
  for (int64_t length = 7000; length < 7100; ++length) {
    for (int sight = 0; sight < 2; ++sight) made += run(cache, length, 10) ? 1 : 0;
  }
  EXPECT_GE(made, 3);
  EXPECT_LE(made, 6);
}

TEST(SignatureCache, full_it_takes_what_comes_again_and_again_and_nothing_else) {
  SignatureCache cache = make_cache();
  for (int64_t length = 0; length < 64; ++length) {
    ASSERT_TRUE(cache.find_at_once(of_length(length)).make);
    cache.add(std::make_shared<SignaturePlan>(SignaturePlan{.dynamic = nullptr, .signature = of_length(length)}));
  }
  ASSERT_EQ(64U, cache.plans().size());
  int64_t made = 0;
  for (int sight = 0; sight < 20; ++sight) made += run(cache, 100, 90) ? 1 : 0;
  EXPECT_EQ(0, made) << "nothing is known to run longer";
  for (int sight = 0; sight < 64; ++sight) made += run(cache, 100, 90) ? 1 : 0;
  EXPECT_EQ(1, made) << "it comes again and again";
}

TEST(SignatureCache, what_has_long_been_unused_makes_room) {
  SignatureCache cache = make_cache();
  for (int64_t length = 0; length < 64; ++length) {
    for (int sight = 0; sight < 500 && cache.find(of_length(length)).plan == nullptr; ++sight) run(cache, length);
  }
  ASSERT_EQ(64U, cache.plans().size());
  for (int i = 0; i < 9000; ++i) cache.find(of_length(63));
  EXPECT_FALSE(run(cache, 100));
  EXPECT_TRUE(run(cache, 100));
  EXPECT_EQ(nullptr, cache.find(of_length(0)).plan);
}

TEST(SignatureCache, spends_little_on_many_signatures_and_that_on_short_runs) {
  constexpr int64_t kLengths = 1000, kPasses = 20, kSettled = 10, kShort = 50;
  SignatureCache cache = make_cache();
  std::vector<int64_t> order(kLengths);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 engine(1);
  int64_t made = 0, found_short = 0;
  for (int64_t pass = 0; pass < kPasses; ++pass) {
    std::shuffle(order.begin(), order.end(), engine);
    for (int64_t length : order) {
      const InputSignature signature = of_length(length);
      const SignatureCache::Found found = cache.find(signature);
      if (found.make) {
        cache.add(std::make_shared<SignaturePlan>(SignaturePlan{.dynamic = nullptr, .signature = signature}));
      } else if (!found.plan) {
        cache.took(signature, 50 + 7 * length);
      }
      if (pass < kSettled) continue;
      made += found.make ? 1 : 0;
      found_short += found.plan && length < kShort ? 1 : 0;
    }
  }
  EXPECT_LE(made, kLengths * (kPasses - kSettled) / 200);
  EXPECT_GE(found_short, kShort * (kPasses - kSettled) * 9 / 10);
}

TEST(SignatureCache, spends_little_on_many_signatures_from_the_start) {
  constexpr int64_t kLengths = 1000;
  SignatureCache cache = make_cache();
  std::vector<int64_t> order(kLengths);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 engine(1);
  int64_t made = 0;
  for (int pass = 1; pass <= 4; ++pass) {
    std::shuffle(order.begin(), order.end(), engine);
    for (int64_t length : order) made += run(cache, length, 50 + 7 * length) ? 1 : 0;
    EXPECT_LE(made, kLengths * pass / 100);
  }
  for (int64_t length = 0; length < 8; ++length) EXPECT_NE(nullptr, cache.find(of_length(length)).plan) << length;
}

// Runs of lengths in random order, of which long ones make the plans of short ones; such a plan takes so long to make.
class ManyLengths {
 public:
  static constexpr int64_t kLengths = 1000;
  explicit ManyLengths(Ticks cost, Ticks each) : cost_(cost), each_(each), order_(kLengths) {
    std::iota(order_.begin(), order_.end(), 0);
  }

  void pass() {
    std::shuffle(order_.begin(), order_.end(), engine_);
    made_at_once = made_later = found = 0;
    for (int64_t length : order_) run(length);
  }
  int64_t made_at_once = 0, made_later = 0, found = 0;  // in the last pass

 private:
  void run(int64_t length) {
    const InputSignature signature = of_length(length);
    const SignatureCache::Found result = cache_.find(signature);
    found += result.plan ? 1 : 0;
    if (result.make && result.later) return cache_.wait({signature, Recording{}});
    if (result.make) {
      ++made_at_once;
      return make(signature);
    }
    if (result.plan) return;
    const Ticks time = 50 + each_ * length;
    if (const auto recorded = cache_.took(signature, time)) {
      EXPECT_GE(time, 2 * cost_);
      ++made_later;
      make(recorded->signature);
    }
  }
  void make(const InputSignature& signature) {
    cache_.add(std::make_shared<SignaturePlan>(SignaturePlan{.dynamic = nullptr, .signature = signature}), cost_);
  }

  const Ticks cost_, each_;
  SignatureCache cache_ = make_cache();
  std::mt19937 engine_{1};
  std::vector<int64_t> order_;
};

TEST(SignatureCache, among_many_signatures_plans_of_short_runs_are_made_by_long_ones) {
  ManyLengths lengths(3000, 10);
  lengths.pass();
  lengths.pass();
  EXPECT_LE(lengths.made_at_once, 4) << "before the first has told what a plan costs";
  for (int i = 0; i < 8; ++i) {
    lengths.pass();
    EXPECT_EQ(0, lengths.made_at_once);
  }
  EXPECT_GE(lengths.found, 60);
}

TEST(SignatureCache, among_many_signatures_without_long_runs_nothing_waits) {
  ManyLengths lengths(100'000, 10);
  int64_t at_once = 0, later = 0;
  for (int i = 0; i < 8; ++i) {
    lengths.pass();
    at_once += lengths.made_at_once;
    later += lengths.made_later;
  }
  EXPECT_GE(at_once, 16);
  EXPECT_EQ(0, later);
}

TEST(SignatureCache, what_waits_for_long_runs_in_vain_is_made_at_once) {
  SignatureCache cache = make_cache();
  const auto make = [&](int64_t length) {
    cache.add(std::make_shared<SignaturePlan>(SignaturePlan{.dynamic = nullptr, .signature = of_length(length)}), 1000);
  };
  ASSERT_TRUE(cache.find_at_once(of_length(5000)).make);
  make(5000);
  for (int64_t length = 100; length < 200; ++length) {
    cache.find(of_length(length));
    cache.took(of_length(length), 2000);
  }
  cache.find(of_length(1));
  cache.took(of_length(1), 10);
  SignatureCache::Found found;
  for (int i = 0; i < 200 && !found.make; ++i) {
    found = cache.find(of_length(1));
    if (!found.make) cache.took(of_length(1), 10);
  }
  ASSERT_TRUE(found.make && found.later);
  cache.wait({of_length(1), Recording{}});
  EXPECT_FALSE(cache.find(of_length(1)).make);
  for (int i = 0; i < 300; ++i) cache.find(of_length(5000));
  found = cache.find(of_length(1));
  EXPECT_TRUE(found.make);
  EXPECT_FALSE(found.later);
  make(1);
  EXPECT_NE(nullptr, cache.find(of_length(1)).plan);
  EXPECT_EQ(std::nullopt, cache.took(of_length(2), 1'000'000)) << "it waits no longer";
}

// However long some runs took, as they do now and then on a busy machine.
TEST(SignatureCache, what_comes_again_and_again_waits_for_no_long_run) {
  SignatureCache cache = make_cache();
  const auto run_short = [&](int64_t length) {
    SignatureCache::Found found = cache.find(of_length(length));
    if (found.later) {
      cache.wait({of_length(length), Recording{}});
    } else if (found.make) {
      cache.add(std::make_shared<SignaturePlan>(SignaturePlan{.dynamic = nullptr, .signature = of_length(length)}),
                1000);
    } else if (!found.plan) {
      cache.took(of_length(length), 10);
    }
    return found.plan != nullptr;
  };
  for (int64_t length = 1; length <= 200; ++length) {
    cache.find(of_length(10'000 + length));
    cache.took(of_length(10'000 + length), 1'000'000);  // a long one
    bool has_plan = false;
    for (int i = 0; i < 70 && !has_plan; ++i) has_plan = run_short(length);
    EXPECT_TRUE(has_plan) << length;
  }
}

TEST(SignatureCache, gives_all_that_find_room_a_plan_at_the_second_sight) {
  SignatureCache cache = make_cache();
  for (int64_t length = 0; length < 40; ++length) EXPECT_FALSE(run(cache, length, 1000 - length));
  for (int64_t length = 0; length < 40; ++length) EXPECT_TRUE(run(cache, length));
}

TEST(SignatureCache, among_many_takes_what_comes_often) {
  SignatureCache cache = make_cache();
  for (int64_t length = 0; length < 200; ++length) run(cache, length);
  int sights = 1;
  while (!run(cache, 500, 1000) && sights < 100) ++sights;
  EXPECT_LE(sights, 4);
}

TEST(SignatureCache, what_has_no_plan_takes_no_plans_place) {
  SignatureCache cache = make_cache();
  for (int sight = 0; sight < 2; ++sight) run(cache, 1);
  for (int64_t length = 100; length < 1000; ++length) run(cache, length);
  EXPECT_NE(nullptr, cache.find(of_length(1)).plan);
}

TEST(SignatureCache, keeps_no_more_than_its_limit) {
  SignatureCache cache = make_cache(SignatureCache::When::kAtOnce);
  for (int64_t length = 0; length < 100; ++length) run(cache, length);
  EXPECT_EQ(64u, cache.plans().size());
  EXPECT_EQ(36, cache.evictions());
}

}  // namespace
}  // namespace stator
