// The matmul family.
#include <ATen/ops/addmm_native.h>
#include <ATen/ops/addmv_cpu_dispatch.h>
#include <ATen/ops/baddbmm_native.h>
#include <ATen/ops/bmm_cpu_dispatch.h>
#include <ATen/ops/bmm_native.h>
#include <ATen/ops/mm_cpu_dispatch.h>
#include <ATen/ops/mm_native.h>

#include <cstring>
#include <memory>
#include <utility>

#include "ops/copy.h"
#include "ops/registry.h"
#include "ops/structured.h"
#include "ops/views.h"

namespace stator {
namespace {

namespace native = at::native;

at::Tensor transposed(const at::Tensor& matrix) {
  return make_view(matrix, {matrix.size(1), matrix.size(0)}, {matrix.stride(1), matrix.stride(0)},
                   matrix.storage_offset());
}

bool equal_dtypes(const at::Tensor& a, const at::Tensor& b) { return a.scalar_type() == b.scalar_type(); }

// out = bias + a @ b, all matrices but the bias, which is a row. Shapes and dtypes fit.
// The bias is put into the result first: addmm would find it broadcast and copy it by a TensorIterator.
void addmm_row(const Call& call, at::Tensor& out, const at::Tensor& bias, const at::Tensor& a, const at::Tensor& b) {
  if (bias.is_contiguous()) {
    auto* row = static_cast<char*>(out.mutable_data_ptr());
    const size_t bytes = bias.nbytes();
    for (int64_t i = 0; i < out.size(0); ++i) std::memcpy(row + i * bytes, bias.const_data_ptr(), bytes);
  } else {
    copy_into(out, bias);
  }
  Planned<native::structured_addmm_out_cpu>(call).impl(out, a, b, 1, 1, out);
}

void addmm(const Call& call) {
  const at::Tensor &bias = call.tensor(0), &a = call.tensor(1), &b = call.tensor(2);
  const auto is_one = [](const c10::IValue& value) { return value.isInt() && value.toInt() == 1; };
  const bool row = is_plain(bias) && is_plain(a) && is_plain(b) && bias.dim() == 1 && a.dim() == 2 && b.dim() == 2 &&
                   a.size(1) == b.size(0) && bias.size(0) == b.size(1) && equal_dtypes(bias, a) && equal_dtypes(a, b) &&
                   a.numel() > 0 && bias.numel() > 0 && is_one(call.in(3)) && is_one(call.in(4));
  if (!row) return structured<native::structured_addmm_out_cpu>(call);
  addmm_row(call, call.output(0, {a.size(0), b.size(1)}, {}, a.scalar_type()), bias, a, b);
}

void mv(const Call& call) {
  const at::Tensor &matrix = call.tensor(0), &vector = call.tensor(1);
  if (!is_plain(matrix) || !is_plain(vector) || matrix.dim() != 2 || vector.dim() != 1 ||
      !equal_dtypes(matrix, vector)) {
    return run_boxed(call);
  }
  at::Tensor& out = call.output(0, {matrix.size(0)}, {}, vector.scalar_type());
  at::cpu::addmv_outf(out, matrix, vector, 0, 1, out);
}

// Batches of matrices of one batch shape, as bmm of three dimensions.
void matmul_batches(const Call& call, const at::Tensor& a, const at::Tensor& b) {
  const int64_t rank = a.dim();
  const at::IntArrayRef batch = a.sizes().slice(0, rank - 2);
  int64_t count = 1;
  for (int64_t size : batch) count *= size;
  const auto a3 = try_view(a, {count, a.size(-2), a.size(-1)});
  const auto b3 = try_view(b, {count, b.size(-2), b.size(-1)});
  if (!a3 || !b3) return run_boxed(call);
  at::DimVector sizes(a.sizes());
  sizes[rank - 1] = b.size(-1);
  at::Tensor& out = call.output(0, sizes, {}, a.scalar_type());
  at::Tensor out3 = make_view(out, {count, a.size(-2), b.size(-1)}, {a.size(-2) * b.size(-1), b.size(-1), 1}, 0);
  at::cpu::bmm_outf(*a3, *b3, out3);
}

// (..., k) @ (k, n) on contiguous a: all leading dimensions are rows. `bias` may be NULL.
void matmul_rows(const Call& call, const at::Tensor& a, const at::Tensor& b, const at::Tensor* bias) {
  const int64_t k = b.size(0), n = b.size(1), rows = a.numel() / k;
  at::DimVector sizes(a.sizes());
  sizes.back() = n;
  at::Tensor& out = call.output(0, sizes, {}, a.scalar_type());
  const at::Tensor rows_in = make_view(a, {rows, k}, {k, 1}, a.storage_offset());
  at::Tensor rows_out = make_view(out, {rows, n}, {n, 1}, 0);
  if (bias) {
    addmm_row(call, rows_out, *bias, rows_in, b);
  } else {
    at::cpu::mm_outf(rows_in, b, rows_out);
  }
}

void matmul(const Call& call) {
  const at::Tensor &a = call.tensor(0), &b = call.tensor(1);
  if (!is_plain(a) || !is_plain(b) || !equal_dtypes(a, b) || a.dim() < 2 || b.dim() < 2 || a.size(-1) != b.size(-2))
    return run_boxed(call);
  if (a.dim() == 2 && b.dim() == 2) return run_structured<native::structured_mm_out_cpu>(call, a, b);
  if (b.dim() == 2 && a.is_contiguous() && a.numel() > 0 && b.numel() > 0) return matmul_rows(call, a, b, nullptr);
  if (a.dim() != b.dim() || a.sizes().slice(0, a.dim() - 2) != b.sizes().slice(0, a.dim() - 2)) return run_boxed(call);
  if (a.dim() == 3) return run_structured<native::structured_bmm_out_cpu>(call, a, b);
  if (a.numel() == 0 || b.numel() == 0) return run_boxed(call);
  matmul_batches(call, a, b);
}

struct LinearData {
  const Operator* op;
  at::Tensor transposed;  // of a constant weight
};

void linear(const Call& call) {
  const auto& data = call.data<LinearData>();
  const at::Tensor &input = call.tensor(0), &weight = call.tensor(1);
  const at::Tensor* bias = call.in(2).isNone() ? nullptr : &call.tensor(2);
  bool simple = is_plain(input) && is_plain(weight) && equal_dtypes(input, weight) && weight.dim() == 2 &&
                input.dim() >= 2 && input.size(-1) == weight.size(1) && input.numel() > 0 && weight.numel() > 0;
  if (bias)
    simple =
        simple && is_plain(*bias) && equal_dtypes(input, *bias) && bias->dim() == 1 && bias->size(0) == weight.size(0);
  if (!simple || (input.dim() > 2 && !input.is_contiguous())) return run_boxed(*data.op, call);
  const at::Tensor b = data.transposed.defined() ? data.transposed : transposed(weight);
  if (input.dim() > 2) return matmul_rows(call, input, b, bias);
  at::Tensor& out = call.output(0, {input.size(0), weight.size(0)}, {}, input.scalar_type());
  if (bias) {
    addmm_row(call, out, *bias, input, b);
  } else {
    Planned<native::structured_mm_out_cpu>(call).impl(input, b, out);
  }
}

Implementation prepare_linear(const Node& node) {
  auto data = std::make_shared<LinearData>(LinearData{node.op, {}});
  const c10::IValue* weight = constant_of(node.input(1));
  if (weight && is_plain(*weight) && weight->toTensor().dim() == 2) data->transposed = transposed(weight->toTensor());
  Implementation chosen;
  chosen.run = linear;
  chosen.data = std::move(data);
  return chosen;
}

const Registration kProducts[] = {
    {ImplKind::kOut, "aten::addmm", addmm},
    {ImplKind::kOut, "aten::baddbmm", structured<native::structured_baddbmm_out_cpu>},
    {ImplKind::kOut, "aten::bmm", structured<native::structured_bmm_out_cpu>},
    {ImplKind::kOut, "aten::linear", prepare_linear},
    {ImplKind::kOut, "aten::matmul", matmul},
    {ImplKind::kOut, "aten::mm", structured<native::structured_mm_out_cpu>},
    {ImplKind::kOut, "aten::mv", mv},
};

}  // namespace
}  // namespace stator
