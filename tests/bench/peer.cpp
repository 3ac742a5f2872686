#include "bench/peer.h"

namespace stator::bench {
namespace {

std::vector<PeerKind>& table() {
  static std::vector<PeerKind> kinds;
  return kinds;
}

void collect(const c10::IValue& value, std::vector<at::Tensor>& out) {
  if (value.isTensor()) {
    out.push_back(value.toTensor());
  } else if (value.isTuple()) {
    for (const c10::IValue& item : value.toTupleRef().elements()) collect(item, out);
  } else if (value.isList()) {
    for (const c10::IValue& item : value.toListRef()) collect(item, out);
  }
}

}  // namespace

PeerRegistration::PeerRegistration(PeerKind kind) { table().push_back(std::move(kind)); }

const std::vector<PeerKind>& peer_kinds() { return table(); }

std::vector<at::Tensor> tensors_of(const c10::IValue& result) {
  std::vector<at::Tensor> tensors;
  collect(result, tensors);
  return tensors;
}

}  // namespace stator::bench
