// Operators that give their argument back: casts and checks that only the compiler needs, and dropouts that drop nothing.
#include "ops/fallback.h"
#include "ops/registry.h"
#include "ops/unboxed.h"

namespace stator {
namespace {

void identity(const Call& call) { call.out() = call.in(0); }

void unwrap_optional(const Call& call) {
  if (call.in(0).isNone()) return run_boxed(call);
  identity(call);
}

// dropout(input, p, train); where it drops it draws random numbers in LibTorch's order.
template <class Op>
void dropout(const Call& call) {
  const double p = call.in(1).toDouble();
  const bool drops = call.in(2).toBool() && p != 0;
  if (drops || !(p >= 0 && p <= 1)) return unboxed::run<Op, unboxed::Results::kMayBeArguments>(call);
  identity(call);
}

const Registration kIdentities[] = {
    {ImplKind::kNative, "aten::_unwrap_optional", unwrap_optional},
    {ImplKind::kNative, "aten::alpha_dropout", dropout<at::_ops::alpha_dropout>},
    {ImplKind::kNative, "aten::dropout", dropout<at::_ops::dropout>},
    {ImplKind::kNative, "aten::feature_alpha_dropout", dropout<at::_ops::feature_alpha_dropout>},
    {ImplKind::kNative, "aten::feature_dropout", dropout<at::_ops::feature_dropout>},
    {ImplKind::kNative, "prim::unchecked_cast", identity},
    {ImplKind::kNative, "prim::unchecked_unwrap_optional", identity},
};

}  // namespace
}  // namespace stator
