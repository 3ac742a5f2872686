#include "frontend/planned/tensors.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/_make_per_channel_quantized_tensor.h>
#include <ATen/ops/_make_per_tensor_quantized_tensor.h>

#include "frontend/tensor_memory.h"
#include "graph/dtype.h"
#include "graph/error.h"

namespace stator::planned {
namespace {

using namespace json;

constexpr uintptr_t kAlignment = 64;
constexpr size_t kMostDimensions = 64;

bool is_strided(const at::Tensor& tensor) {
  return tensor.layout() == at::kStrided && tensor.has_storage() && tensor.device().is_cpu() && !tensor.is_conj() &&
         !tensor.is_neg();
}

// How the whole numbers of a quantized tensor are to be read: [scale, zero point], or with rows for each channel
// [scales, zero points, axis]. null: it is not quantized.
template <class Add>
Json write_quantizer(const at::Tensor& tensor, const Add& add) {
  if (!tensor.is_quantized()) return nullptr;
  const bool plain = c10::toQIntType(c10::toUnderlying(tensor.scalar_type())) == tensor.scalar_type();
  if (plain && tensor.qscheme() == at::kPerTensorAffine) return Json::array({tensor.q_scale(), tensor.q_zero_point()});
  if (plain && tensor.qscheme() == at::kPerChannelAffine)
    return {add(tensor.q_per_channel_scales()), add(tensor.q_per_channel_zero_points()), tensor.q_per_channel_axis()};
  throw Error(ErrorCode::kUnsupported, std::string("a tensor that is quantized as ") +
                                           dtype_name(tensor.scalar_type()) + ", " + c10::toString(tensor.qscheme()) +
                                           " cannot be saved");
}

// The numbers are copied: LibTorch has no way to give memory a quantizer.
at::Tensor quantized(const at::Tensor& numbers, const Json& quantizer, const TensorReader& known) {
  const size_t parts = list(quantizer, "a quantizer").size();
  const bool can_be = c10::toQIntType(numbers.scalar_type()) != numbers.scalar_type();
  if (!can_be || (parts != 2 && parts != 3)) malformed("a quantizer is not what it should be");
  if (parts == 2) {
    return at::_make_per_tensor_quantized_tensor(numbers, number(quantizer[0], "a scale"),
                                                 integer(quantizer[1], "a zero point"));
  }
  const at::Tensor scales = known[quantizer[0]], zero_points = known[quantizer[1]];
  const int64_t axis = integer(quantizer[2], "an axis");
  const auto fits = [&](const at::Tensor& each) {
    return each.defined() && each.dim() == 1 && axis >= 0 && axis < numbers.dim() && each.numel() == numbers.size(axis);
  };
  if (!fits(scales) || !fits(zero_points)) malformed("a quantizer does not fit its numbers");
  return at::_make_per_channel_quantized_tensor(numbers, scales, zero_points, axis);
}

std::vector<int64_t> integers(const Json& numbers, const char* what) {
  std::vector<int64_t> out;
  for (const Json& number : list(numbers, what)) out.push_back(integer(number, what));
  return out;
}

at::Tensor read_tensor(const Json& row, const std::vector<c10::Storage>& memory) {
  if (list(row, "a tensor").size() != 6) malformed("a tensor is not what it should be");
  const int64_t index = integer(row[0], "memory of a tensor");
  if (index < 0 || index >= static_cast<int64_t>(memory.size())) malformed("there is no memory of a tensor");
  const auto dtype = dtype_from_name(text(row[1], "a dtype"));
  if (!dtype || c10::isQIntType(*dtype)) malformed("there is no dtype " + row[1].dump());
  const int64_t offset = integer(row[2], "the offset of a tensor");
  const auto sizes = integers(row[3], "sizes"), strides = integers(row[4], "strides");
  if (sizes.size() != strides.size() || sizes.size() > kMostDimensions) malformed("a tensor has no shape");
  const c10::Storage& storage = memory[static_cast<size_t>(index)];
  const auto needed = bytes_needed(*dtype, sizes, strides, offset);
  if (!needed || *needed > storage.nbytes()) malformed("a tensor does not fit its memory");
  return tensor_over(storage, *dtype, sizes, strides, offset);
}

}  // namespace

int64_t TensorWriter::add(const at::Tensor& tensor) {
  if (!tensor.defined()) return -1;
  if (const auto known = known_.find(tensor.unsafeGetTensorImpl()); known != known_.end()) return known->second;
  kept_.push_back(tensor);
  if (!is_strided(tensor))
    throw Error(ErrorCode::kUnsupported,
                "a tensor that is sparse, lazily conjugate, or on another device cannot be saved");
  Json quantizer = write_quantizer(tensor, [this](const at::Tensor& each) { return add(each); });
  const auto* storage = tensor.storage().unsafeGetStorageImpl();
  const auto [place, fresh] = known_memory_.emplace(storage, static_cast<int64_t>(memory_.size()));
  if (fresh) memory_.push_back(tensor.storage());
  rows_.push_back({place->second, dtype_name(c10::toUnderlying(tensor.scalar_type())), tensor.storage_offset(),
                   tensor.sizes().vec(), tensor.strides().vec(), std::move(quantizer)});
  return known_[tensor.unsafeGetTensorImpl()] = static_cast<int64_t>(rows_.size()) - 1;
}

bool TensorWriter::has_memory(const at::Tensor& tensor) const {
  return known_memory_.count(tensor.storage().unsafeGetStorageImpl()) != 0;
}

TensorReader::TensorReader(const Json& rows, size_t records, const std::function<std::span<const char>(size_t)>& record,
                           const ArchiveBytes& archive, bool borrow) {
  std::vector<c10::Storage> memory;
  for (size_t i = 0; i < records; ++i) memory.push_back(storage_of(record(i), archive, borrow, kAlignment));
  for (const Json& row : list(rows, "tensors")) {
    const at::Tensor plain = read_tensor(row, memory);
    tensors_.push_back(row[5].is_null() ? plain : quantized(plain, row[5], *this));
  }
}

at::Tensor TensorReader::operator[](const Json& row) const {
  const int64_t index = integer(row, "a tensor");
  if (index < -1 || index >= static_cast<int64_t>(tensors_.size())) malformed("there is no tensor " + row.dump());
  return index < 0 ? at::Tensor() : tensors_[static_cast<size_t>(index)];
}

}  // namespace stator::planned
