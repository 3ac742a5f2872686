#include "plan/signature.h"

#include <c10/util/hash.h>

namespace stator {
namespace {

SignatureEntry::Kind kind_of(const c10::IValue& value) {
  using Kind = SignatureEntry::Kind;
  if (is_plain(value)) return Kind::kTensor;
  if (value.isInt()) return Kind::kInt;
  if (value.isBool()) return Kind::kBool;
  return value.isNone() ? Kind::kNone : Kind::kOther;
}

size_t hash_of_entry(const SignatureEntry& entry) {
  size_t hash = c10::hash_combine(static_cast<size_t>(entry.kind), static_cast<size_t>(entry.number));
  hash = c10::hash_combine(hash, static_cast<size_t>(entry.tensor.dtype));
  for (int64_t size : entry.tensor.sizes) hash = c10::hash_combine(hash, static_cast<size_t>(size));
  for (int64_t stride : entry.tensor.strides) hash = c10::hash_combine(hash, static_cast<size_t>(stride));
  return hash;
}

}  // namespace

SignatureEntry SignatureEntry::of(const c10::IValue& value) {
  SignatureEntry entry{.kind = kind_of(value)};
  if (entry.kind == Kind::kTensor) entry.tensor = TensorMeta::of(value.toTensor());
  if (entry.kind == Kind::kInt) entry.number = value.toInt();
  if (entry.kind == Kind::kBool) entry.number = value.toBool();
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
    hash_ = c10::hash_combine(hash_, hash_of_entry(entries_.back()));
  }
}

size_t InputSignature::hash_of(const RunValues& values) {
  size_t hash = 0;
  for (size_t i = 0; i < values.size(); ++i)
    hash = c10::hash_combine(hash, hash_of_entry(SignatureEntry::of(values[i])));
  return hash;
}

InputSignature::InputSignature(std::vector<SignatureEntry> entries, int threads)
    : entries_(std::move(entries)), threads_(threads) {
  for (const SignatureEntry& entry : entries_) hash_ = c10::hash_combine(hash_, hash_of_entry(entry));
}

bool InputSignature::matches(const RunValues& values) const {
  if (threads_ != values.threads) return false;
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (!entries_[i].matches(values[i])) return false;
  }
  return true;
}

}  // namespace stator
