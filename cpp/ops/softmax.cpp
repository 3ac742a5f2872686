// softmax and log_softmax.
#include <ATen/ops/_log_softmax_native.h>
#include <ATen/ops/_softmax_native.h>

#include "ops/registry.h"
#include "ops/structured.h"

namespace stator {
namespace {

namespace native = at::native;

// A dtype converts the argument before anything else, so only the result of the operator proper is placed.
template <class S>
void converted(const Call& call) {
  const at::Tensor& self = call.tensor(0);
  if (!is_plain(self)) return run_boxed(call);
  const auto dtype = call.in(2).toOptional<at::ScalarType>();
  const int64_t dim = call.in(1).toInt();
  if (dtype && *dtype != self.scalar_type()) {
    run_structured<S>(call, self.to(*dtype), dim, false);
  } else {
    run_structured<S>(call, self, dim, false);
  }
}

const Registration kSoftmaxes[] = {
    {ImplKind::kOut, "aten::_softmax", structured<native::structured_softmax_cpu_out>},
    {ImplKind::kOut, "aten::_log_softmax", structured<native::structured_log_softmax_cpu_out>},
    {ImplKind::kOut, "aten::softmax.int", converted<native::structured_softmax_cpu_out>},
    {ImplKind::kOut, "aten::log_softmax.int", converted<native::structured_log_softmax_cpu_out>},
};

}  // namespace
}  // namespace stator
