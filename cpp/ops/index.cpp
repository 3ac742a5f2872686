// Look-ups by index: embedding, index_select, gather, indexing by tensors, and scatter.
#include <ATen/NativeFunctions.h>

#include <cstring>

#include "ops/registry.h"
#include "ops/structured.h"
#include "ops/views.h"

namespace stator {
namespace {

namespace native = at::native;

// Copies row indices[i] of `table` to row i of `out`. False at an index out of range, whose error is LibTorch's to raise.
template <class T>
bool copy_rows(char* out, const char* table, int64_t rows, size_t bytes, const T* indices, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (indices[i] < 0 || indices[i] >= rows) return false;
    std::memcpy(out + i * bytes, table + indices[i] * bytes, bytes);
  }
  return true;
}

bool is_index(const at::Tensor& tensor) {
  return is_plain(tensor) && tensor.is_contiguous() &&
         (tensor.scalar_type() == at::kLong || tensor.scalar_type() == at::kInt);
}

// Rows of a contiguous matrix. Threads pay off only where much is copied; ATen's index_select has them.
void embedding(const Call& call) {
  constexpr size_t kShortBytes = size_t{256} << 10;
  const at::Tensor &weight = call.tensor(0), &indices = call.tensor(1);
  if (!is_plain(weight) || weight.dim() != 2 || !weight.is_contiguous() || !is_index(indices)) return run_boxed(call);
  const int64_t width = weight.size(1), count = indices.numel();
  at::DimVector sizes(indices.sizes());
  sizes.push_back(width);
  at::Tensor& out = call.output(0, sizes, {}, weight.scalar_type());
  if (count == 0 || width == 0) return;
  if (out.nbytes() > kShortBytes) {
    at::Tensor rows = make_view(out, {count, width}, {width, 1}, 0);
    native::index_select_out_cpu_(weight, 0, make_view(indices, {count}, {1}, indices.storage_offset()), rows);
    return;
  }
  auto* to = static_cast<char*>(out.mutable_data_ptr());
  const auto* from = static_cast<const char*>(weight.const_data_ptr());
  const size_t bytes = static_cast<size_t>(width) * weight.element_size();
  const bool in_range = indices.scalar_type() == at::kLong
                            ? copy_rows(to, from, weight.size(0), bytes, indices.const_data_ptr<int64_t>(), count)
                            : copy_rows(to, from, weight.size(0), bytes, indices.const_data_ptr<int32_t>(), count);
  if (!in_range) run_boxed(call);
}

void index_select(const Call& call) {
  const at::Tensor &self = call.tensor(0), &index = call.tensor(2);
  int64_t dim = call.in(1).toInt();
  if (dim < 0) dim += self.dim();
  if (!is_plain(self) || !is_index(index) || dim < 0 || dim >= self.dim() || index.dim() > 1) return run_boxed(call);
  at::DimVector sizes(self.sizes());
  sizes[dim] = index.numel();
  native::index_select_out_cpu_(self, dim, index, call.output(0, sizes, {}, self.scalar_type()));
}

void index(const Call& call) {
  const at::Tensor& self = call.tensor(0);
  bool plain = is_plain(self);
  for (const c10::IValue& element : call.in(1).toListRef()) plain = plain && (element.isNone() || is_plain(element));
  if (!plain) return run_boxed(call);
  const auto indices = call.in(1).to<c10::List<std::optional<at::Tensor>>>();
  Planned<native::structured_index_out> op(call);
  const auto found = op.meta(self, indices);
  op.impl(self, found.sizes, found.strides, op.maybe_get_output(0));
}

const Registration kIndexing[] = {
    {ImplKind::kOut, "aten::embedding", embedding},
    {ImplKind::kOut, "aten::gather", structured<native::structured_gather_out>},
    {ImplKind::kOut, "aten::index.Tensor", index},
    {ImplKind::kOut, "aten::index_select", index_select},
    {ImplKind::kOut, "aten::scatter.src", structured<native::structured_scatter_src_out>},
    {ImplKind::kOut, "aten::scatter.value", structured<native::structured_scatter_value_out>},
    {ImplKind::kOut, "aten::scatter_add", structured<native::structured_scatter_add>},
};

}  // namespace
}  // namespace stator
