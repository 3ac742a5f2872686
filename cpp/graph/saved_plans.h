// What a planned file holds beside the program: what plans for signatures are made of, without a run, and weights in the forms that kernels
// want.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace stator {

// Who made plans, and for what machine: they fit no other.
struct Maker {
  std::string stator;  // versions
  std::string torch;
  std::string cpu;  // LibTorch's name of what vector instructions it has
  bool operator==(const Maker&) const = default;
  std::string str() const { return "Stator " + stator + " on LibTorch " + torch + " for " + cpu; }
};

struct SavedPlan {
  std::string method;
  std::string signature;        // "x: float32[1, 128]", as warm-up takes it: for people, and to make the plan anew
  int threads = 1;              // of the runs it is for
  std::vector<int64_t> record;  // plan/saved_record.h
};

struct SavedWeight {
  at::Tensor weight;
  std::string form;
  at::Tensor packed;
};

struct SavedPlans {
  Maker maker;
  std::vector<SavedPlan> plans;
  std::vector<SavedWeight> weights;
};

}  // namespace stator
