// Loops over a few thousand contiguous floats at most, where ATen's own set-up costs more than the work.
//
// Only operations whose float32 result is the same bit for bit however they are vectorised. The rest is ATen's.
#pragma once

#include <algorithm>
#include <cmath>

#include "ops/call.h"
#include "ops/tensors.h"

namespace stator {

// Above this ATen's wider vectors and threads win.
constexpr int64_t kShort = 4096;

struct AddFloat {
  static float apply(float a, float b) { return a + b; }
};
struct SubFloat {
  static float apply(float a, float b) { return a - b; }
};
struct MulFloat {
  static float apply(float a, float b) { return a * b; }
};
struct DivFloat {
  static float apply(float a, float b) { return a / b; }
};

inline bool is_short_float(const at::Tensor& tensor) {
  const int64_t count = tensor.numel();
  return count > 0 && count <= kShort && is_plain_float(tensor);
}

// A number that arithmetic on a float32 tensor takes as float32. Not bool, which sub refuses.
inline bool is_real_number(const c10::IValue& value) { return value.isDouble() || value.isInt(); }
inline float as_float(const c10::IValue& value) {
  return value.isInt() ? static_cast<float>(value.toInt()) : static_cast<float>(value.toDouble());
}
inline bool is_one(const c10::IValue& value) {
  return value.isInt() ? value.toInt() == 1 : value.isDouble() && value.toDouble() == 1.0;
}

// One operand per element, or one for all, or a row for all rows.
template <class F>
void short_loop(float* out, const float* a, const float* b, int64_t count, int64_t row) {
  if (row == count) {
    for (int64_t i = 0; i < count; ++i) out[i] = F::apply(a[i], b[i]);
  } else if (row == 1) {
    const float value = *b;
    for (int64_t i = 0; i < count; ++i) out[i] = F::apply(a[i], value);
  } else {
    for (int64_t start = 0; start < count; start += row) {
      for (int64_t i = 0; i < row; ++i) out[start + i] = F::apply(a[start + i], b[i]);
    }
  }
}

// How many elements of `b` meet each run of as many in `a`; 0 if b does not broadcast into a in one of these simple ways.
inline int64_t row_of(const at::Tensor& a, const at::Tensor& b) {
  if (b.dim() > a.dim()) return 0;
  if (b.numel() == 1) return 1;
  if (a.sizes() == b.sizes()) return a.numel();
  return b.size(-1) == b.numel() && a.size(-1) == b.numel() ? b.numel() : 0;
}

// False, with nothing done, if the call is not for these loops.
template <class F>
bool short_tensor_tensor(const Call& call) {
  const at::Tensor& a = call.tensor(0);
  const at::Tensor& b = call.tensor(1);
  if (!is_short_float(a) || !is_short_float(b)) return false;
  if (const int64_t row = row_of(a, b)) {
    float* out = call.output(0, a.sizes(), {}, at::kFloat).template mutable_data_ptr<float>();
    short_loop<F>(out, a.const_data_ptr<float>(), b.const_data_ptr<float>(), a.numel(), row);
    return true;
  }
  if (const int64_t row = row_of(b, a)) {
    struct Swapped {
      static float apply(float x, float y) { return F::apply(y, x); }
    };
    float* out = call.output(0, b.sizes(), {}, at::kFloat).template mutable_data_ptr<float>();
    short_loop<Swapped>(out, b.const_data_ptr<float>(), a.const_data_ptr<float>(), b.numel(), row);
    return true;
  }
  return false;
}

template <class F>
bool short_tensor_number(const Call& call) {
  const at::Tensor& a = call.tensor(0);
  if (!is_real_number(call.in(1)) || !is_short_float(a)) return false;
  const float value = as_float(call.in(1));
  float* out = call.output(0, a.sizes(), {}, at::kFloat).template mutable_data_ptr<float>();
  short_loop<F>(out, a.const_data_ptr<float>(), &value, a.numel(), 1);
  return true;
}

// max(lowest, min(highest, x)) as ATen has it: NaN stays, and so does -0.0 where a bound is 0.0.
inline bool short_clamp(const Call& call, const at::Tensor& a, float lowest, float highest) {
  if (std::isnan(lowest) || std::isnan(highest) || !is_short_float(a)) return false;
  const int64_t count = a.numel();
  float* out = call.output(0, a.sizes(), {}, at::kFloat).mutable_data_ptr<float>();
  const float* in = a.const_data_ptr<float>();
  for (int64_t i = 0; i < count; ++i) {
    const float raised = lowest > in[i] ? lowest : in[i];
    out[i] = highest < raised ? highest : raised;
  }
  return true;
}

}  // namespace stator
