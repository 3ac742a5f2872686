// Strings.
#include <ATen/core/ivalue_inl.h>

#include <sstream>
#include <string>

#include "ops/fallback.h"
#include "ops/registry.h"

namespace stator {
namespace {

// "{}" stands for the next value. Too few of them are TorchScript's to refuse.
void format(const Call& call) {
  const std::string& text = call.in(0).toStringRef();
  std::ostringstream out;
  size_t begin = 0;
  for (int next = 1;; ++next) {
    const size_t place = text.find("{}", begin);
    if (place == std::string::npos) break;
    if (next >= call.input_count()) return run_boxed(call);
    out << text.substr(begin, place - begin) << call.in(next);
    begin = place + 2;
  }
  out << text.substr(begin);
  call.out() = std::move(out).str();
}

void concatenate_strings(const Call& call) { call.out() = call.in(0).toStringRef() + call.in(1).toStringRef(); }

void join(const Call& call) {
  std::string joined;
  for (const c10::IValue& part : call.in(1).toListRef()) {
    if (&part != call.in(1).toListRef().data()) joined += call.in(0).toStringRef();
    joined += part.toStringRef();
  }
  call.out() = std::move(joined);
}

void string_length(const Call& call) { call.out() = static_cast<int64_t>(call.in(0).toStringRef().size()); }

void string_item(const Call& call) {
  const std::string& text = call.in(0).toStringRef();
  const auto size = static_cast<int64_t>(text.size());
  int64_t index = call.in(1).toInt();
  if (index < 0) index += size;
  if (index < 0 || index >= size) return run_boxed(call);
  call.out() = std::string(1, text[index]);
}

void device_type(const Call& call) { call.out() = c10::DeviceTypeName(call.in(0).toDevice().type(), true); }

template <bool kEqual>
void devices_equal(const Call& call) {
  call.out() = (call.in(0).toDevice() == call.in(1).toDevice()) == kEqual;
}

const Registration kStrings[] = {
    {ImplKind::kNative, "aten::format", format},
    {ImplKind::kNative, "aten::add.str", concatenate_strings},
    {ImplKind::kNative, "aten::join", join},
    {ImplKind::kNative, "aten::len.str", string_length},
    {ImplKind::kNative, "aten::__getitem__.str", string_item},
    {ImplKind::kNative, "prim::StringIndex", string_item},
    {ImplKind::kNative, "prim::type", device_type},
    {ImplKind::kNative, "aten::eq.device", devices_equal<true>},
    {ImplKind::kNative, "aten::ne.device", devices_equal<false>},
};

}  // namespace
}  // namespace stator
