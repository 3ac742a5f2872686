// Profile: where the time of a runtime's runs goes, by instruction.
//
// One thread at a time writes (the run that is under way), any thread reads meanwhile: counters are atomics that only the writer changes,
// so they need no locked instruction; events are appended to memory that never moves.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "plan/plan.h"
#include "profile/clock.h"

namespace stator {

// What was executed, in the order of its end.
struct ProfileEvent {
  int32_t method = 0;  // index in its module
  int32_t pc = 0;      // instruction of the method's plan; kWholeRun
  bool bound = false;
  Ticks start = 0;  // since the profile began
  Ticks length = 0;
};
constexpr int32_t kWholeRun = -1;

// The first events of a profile, as many as there is room for.
class ProfileEvents {
 public:
  explicit ProfileEvents(int64_t limit) : start_(ticks()), limit_(limit) {
    if (limit > 0) events_ = std::make_unique<ProfileEvent[]>(limit);
  }

  void add(int32_t method, int32_t pc, bool bound, Ticks start, Ticks length) {
    const int64_t count = count_.load(std::memory_order_relaxed);
    if (count == limit_) return;
    events_[count] = {method, pc, bound, start - start_, length};
    count_.store(count + 1, std::memory_order_release);
  }
  std::span<const ProfileEvent> seen() const {
    return {events_.get(), static_cast<size_t>(count_.load(std::memory_order_acquire))};
  }

 private:
  const Ticks start_;
  const int64_t limit_;
  std::unique_ptr<ProfileEvent[]> events_;
  std::atomic<int64_t> count_{0};
};

class MethodProfile {
 public:
  struct Count {
    int64_t calls = 0;
    Ticks length = 0;
  };

  MethodProfile(const Plan& plan, int32_t method, ProfileEvents& events)
      : plan_(plan), method_(method), events_(events), counters_(2 * plan.code.size()) {}

  void executed(int32_t pc, bool bound, Ticks start, Ticks length) {
    counters_[2 * pc + bound].add(length);
    events_.add(method_, pc, bound, start, length);
  }
  void ran(Ticks start, Ticks length) {
    runs_.add(length);
    events_.add(method_, kWholeRun, false, start, length);
  }

  const Plan& plan() const { return plan_; }
  int32_t method() const { return method_; }
  Count runs() const { return runs_.read(); }
  Count executed(int32_t pc, bool bound) const { return counters_[2 * pc + bound].read(); }

 private:
  struct Counter {
    std::atomic<int64_t> calls{0};
    std::atomic<Ticks> length{0};
    void add(Ticks ticks) {
      calls.store(calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      length.store(length.load(std::memory_order_relaxed) + ticks, std::memory_order_relaxed);
    }
    Count read() const { return {calls.load(std::memory_order_relaxed), length.load(std::memory_order_relaxed)}; }
  };

  const Plan& plan_;
  const int32_t method_;
  ProfileEvents& events_;
  Counter runs_;
  std::vector<Counter> counters_;  // per instruction: as the dynamic plan runs it, as a bound call
};

class Profile {
 public:
  // `event_limit`: how many events are kept, from the start on.
  Profile(size_t methods, int64_t event_limit) : events_(event_limit), methods_(methods) {}

  // By the thread that runs.
  MethodProfile& of(const Plan& plan, int32_t method) {
    MethodProfile* found = methods_[method].load(std::memory_order_relaxed);
    if (!found) {
      owned_.push_back(std::make_unique<MethodProfile>(plan, method, events_));
      found = owned_.back().get();
      methods_[method].store(found, std::memory_order_release);
    }
    return *found;
  }

  // NULL if the method has not run.
  const MethodProfile* seen(int32_t method) const { return methods_[method].load(std::memory_order_acquire); }
  size_t method_count() const { return methods_.size(); }
  const ProfileEvents& events() const { return events_; }

 private:
  ProfileEvents events_;
  std::vector<std::atomic<MethodProfile*>> methods_;
  std::vector<std::unique_ptr<MethodProfile>> owned_;
};

}  // namespace stator
