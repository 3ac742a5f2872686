// cat and stack, of a list and of as many arguments (prim::VarCat, prim::VarStack).
#include <ATen/WrapDimUtils.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cat_native.h>
#include <ATen/ops/stack.h>
#include <c10/util/SmallVector.h>

#include <algorithm>
#include <cstring>

#include "ops/registry.h"
#include "ops/structured.h"

namespace stator {
namespace {

// The tensors are borrowed: lists and slots keep them for the call.
using Pieces = c10::SmallVector<const at::Tensor*, 16>;

bool pieces_of_list(const c10::IValue& list, Pieces& pieces) {
  for (const c10::IValue& element : list.toListRef()) {
    if (!is_plain(element)) return false;
    pieces.push_back(&element.toTensor());
  }
  return true;
}

bool pieces_of_arguments(const Call& call, Pieces& pieces) {
  for (int i = 0; i + 1 < call.input_count(); ++i) {
    if (!is_plain(call.in(i))) return false;
    pieces.push_back(&call.tensor(i));
  }
  return true;
}

std::vector<at::Tensor> owned_arguments(const Call& call) {
  std::vector<at::Tensor> tensors;
  for (int i = 0; i + 1 < call.input_count(); ++i) tensors.push_back(call.tensor(i));
  return tensors;
}

// Contiguous, and not by the same strides channels-last: then the result is contiguous too.
bool only_contiguous(const at::Tensor& tensor) {
  return tensor.is_contiguous() && tensor.suggest_memory_format() == at::MemoryFormat::Contiguous;
}

int64_t product(at::IntArrayRef sizes) {
  int64_t result = 1;
  for (int64_t size : sizes) result *= size;
  return result;
}

// Interleaves the pieces: `rows` times one block of each.
void interleave(at::Tensor& out, const Pieces& pieces, int64_t rows) {
  auto* to = static_cast<char*>(out.mutable_data_ptr());
  c10::SmallVector<std::pair<const char*, size_t>, 16> blocks;
  for (const at::Tensor* piece : pieces) {
    if (piece->numel() > 0)
      blocks.emplace_back(static_cast<const char*>(piece->const_data_ptr()), piece->nbytes() / rows);
  }
  for (int64_t row = 0; row < rows; ++row) {
    for (auto& [from, bytes] : blocks) {
      std::memcpy(to, from + row * bytes, bytes);
      to += bytes;
    }
  }
}

// Pieces of one dtype that differ in size along `dim` only, and are not worth threads. False, with nothing done, for all others.
bool short_cat(const Call& call, const Pieces& pieces, int64_t dim) {
  constexpr int64_t kShortBytes = int64_t{64} << 10;
  const at::Tensor& first = *pieces.front();
  const int64_t rank = first.dim();
  if (rank == 0 || dim < -rank || dim >= rank) return false;
  if (dim < 0) dim += rank;
  at::DimVector sizes(first.sizes());
  int64_t length = 0, bytes = 0;
  for (const at::Tensor* piece : pieces) {
    // A piece of shape [0] joins with anything; that is ATen's affair.
    if (piece->scalar_type() != first.scalar_type() || piece->dim() != rank || (rank == 1 && piece->numel() == 0))
      return false;
    for (int64_t d = 0; d < rank; ++d) {
      if (d != dim && piece->size(d) != sizes[d]) return false;
    }
    if (!only_contiguous(*piece)) return false;
    length += piece->size(dim);
    bytes += static_cast<int64_t>(piece->nbytes());
  }
  if (bytes > kShortBytes) return false;
  sizes[dim] = length;
  at::Tensor& out = call.output(0, sizes, {}, first.scalar_type());
  if (bytes > 0) interleave(out, pieces, product(at::IntArrayRef(sizes).slice(0, dim)));
  return true;
}

void structured_cat(const Call& call, const at::ITensorListRef& tensors, int64_t dim) {
  Planned<at::native::structured_cat_out_cpu> op(call);
  const auto found = op.meta(tensors, dim);
  op.impl(tensors, found.dim, found.valid, found.all_contiguous, found.all_same_dtype, found.all_same_sizes_and_stride,
          found.memory_format, op.maybe_get_output(0));
}

void cat_list(const Call& call) {
  Pieces pieces;
  if (!pieces_of_list(call.in(0), pieces) || pieces.empty()) return run_boxed(call);
  if (short_cat(call, pieces, call.in(1).toInt())) return;
  const c10::List<at::Tensor> list = call.in(0).toTensorList();
  structured_cat(call, list, call.in(1).toInt());
}

void cat_arguments(const Call& call) {
  const int64_t dim = call.in(call.input_count() - 1).toInt();
  Pieces pieces;
  const bool plain = pieces_of_arguments(call, pieces) && !pieces.empty();
  if (plain && short_cat(call, pieces, dim)) return;
  const std::vector<at::Tensor> tensors = owned_arguments(call);
  if (plain) {
    structured_cat(call, at::ITensorListRef(tensors), dim);
  } else {
    call.out() = at::cat(tensors, dim);
  }
}

// False, with nothing done, unless the pieces are alike and contiguous.
bool stack_alike(const Call& call, const Pieces& pieces, int64_t dim) {
  if (pieces.empty()) return false;
  const at::Tensor& first = *pieces.front();
  const int64_t rank = first.dim() + 1;
  if (dim < -rank || dim >= rank) return false;
  if (dim < 0) dim += rank;
  for (const at::Tensor* piece : pieces) {
    if (piece->scalar_type() != first.scalar_type() || piece->sizes() != first.sizes() || !only_contiguous(*piece))
      return false;
  }
  at::DimVector sizes(first.sizes());
  sizes.insert(sizes.begin() + dim, static_cast<int64_t>(pieces.size()));
  at::Tensor& out = call.output(0, sizes, {}, first.scalar_type());
  if (first.numel() > 0) interleave(out, pieces, product(first.sizes().slice(0, dim)));
  return true;
}

void stack_list(const Call& call) {
  Pieces pieces;
  if (!pieces_of_list(call.in(0), pieces) || !stack_alike(call, pieces, call.in(1).toInt())) run_boxed(call);
}

void stack_arguments(const Call& call) {
  const int64_t dim = call.in(call.input_count() - 1).toInt();
  Pieces pieces;
  if (!pieces_of_arguments(call, pieces) || !stack_alike(call, pieces, dim))
    call.out() = at::stack(owned_arguments(call), dim);
}

const Registration kJoins[] = {
    {ImplKind::kOut, "aten::cat", cat_list},
    {ImplKind::kOut, "aten::concat", cat_list},
    {ImplKind::kOut, "aten::stack", stack_list},
    {ImplKind::kOut, "prim::VarCat", cat_arguments},
    {ImplKind::kOut, "prim::VarStack", stack_arguments},
};

}  // namespace
}  // namespace stator
