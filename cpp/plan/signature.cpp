#include "plan/signature.h"

namespace stator {
namespace {

SignatureEntry::Kind kind_of(const c10::IValue& value) {
  using Kind = SignatureEntry::Kind;
  if (is_plain(value)) return Kind::kTensor;
  if (value.isInt()) return Kind::kInt;
  if (value.isBool()) return Kind::kBool;
  return value.isNone() ? Kind::kNone : Kind::kOther;
}

int64_t number_of(const c10::IValue& value) {
  if (value.isInt()) return value.toInt();
  return value.isBool() && value.toBool();
}

// Polynomials in odd numbers without a pattern, modulo 2 to the 64: sizes and strides as two, which processors work out side by side.
constexpr size_t kFactor = 0x9e3779b97f4a7c15, kStrideFactor = 0xc2b2ae3d27d4eb4f;

size_t hash_of_tensor(at::ScalarType dtype, at::IntArrayRef sizes, at::IntArrayRef strides) {
  size_t by_size = static_cast<size_t>(dtype), by_stride = sizes.size();
  for (size_t d = 0; d < sizes.size(); ++d) {
    by_size = by_size * kFactor + static_cast<size_t>(sizes[d]);
    by_stride = by_stride * kFactor + static_cast<size_t>(strides[d]);
  }
  return by_size + by_stride * kStrideFactor;
}

size_t hash_of_number(SignatureEntry::Kind kind, int64_t number) {
  return static_cast<size_t>(kind) * kFactor + static_cast<size_t>(number);
}

// Of so many before and one more.
size_t hash_with(size_t hash, size_t entry) {
  hash = hash * kFactor + entry;
  return hash ^ (hash >> 32);
}

size_t hash_of_entry(const SignatureEntry& entry) {
  return entry.kind == SignatureEntry::Kind::kTensor
             ? hash_of_tensor(entry.tensor.dtype, entry.tensor.sizes, entry.tensor.strides)
             : hash_of_number(entry.kind, entry.number);
}

size_t hash_of_value(const c10::IValue& value) {
  const SignatureEntry::Kind kind = kind_of(value);
  if (kind != SignatureEntry::Kind::kTensor) return hash_of_number(kind, number_of(value));
  const at::Tensor& tensor = value.toTensor();
  return hash_of_tensor(tensor.scalar_type(), tensor.sizes(), tensor.strides());
}

}  // namespace

SignatureEntry SignatureEntry::of(const c10::IValue& value) {
  SignatureEntry entry{.kind = kind_of(value), .number = number_of(value)};
  if (entry.kind == Kind::kTensor) entry.tensor = TensorMeta::of(value.toTensor());
  return entry;
}

bool SignatureEntry::matches(const c10::IValue& value) const {
  switch (kind) {
    case Kind::kTensor:
      return value.isTensor() && tensor.matches(value.toTensor());
    case Kind::kInt:
      return value.isInt() && value.toInt() == number;
    case Kind::kBool:
      return value.isBool() && value.toBool() == (number != 0);
    case Kind::kNone:
    case Kind::kOther:
      return kind_of(value) == kind;
  }
  return false;
}

InputSignature::InputSignature(const RunValues& values) : threads_(values.threads) {
  entries_.reserve(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    entries_.push_back(SignatureEntry::of(values[i]));
    hash_ = hash_with(hash_, hash_of_entry(entries_.back()));
  }
}

size_t InputSignature::hash_of(const RunValues& values) {
  size_t hash = 0;
  for (const c10::IValue& input : values.inputs) hash = hash_with(hash, hash_of_value(input));
  for (int32_t read : values.state_read) hash = hash_with(hash, hash_of_value(values.state[read]));
  return hash;
}

InputSignature::InputSignature(std::vector<SignatureEntry> entries, int threads)
    : entries_(std::move(entries)), threads_(threads) {
  for (const SignatureEntry& entry : entries_) hash_ = hash_with(hash_, hash_of_entry(entry));
}

bool InputSignature::matches(const RunValues& values) const {
  if (threads_ != values.threads) return false;
  const SignatureEntry* entry = entries_.data();
  for (const c10::IValue& input : values.inputs) {
    if (!(entry++)->matches(input)) return false;
  }
  for (int32_t read : values.state_read) {
    if (!(entry++)->matches(values.state[read])) return false;
  }
  return true;
}

}  // namespace stator
