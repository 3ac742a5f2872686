// What programs of torch.export assert of tensors and numbers: nothing is left to do where it follows from the signature.
#include "plan/binding.h"
#include "plan/collapse.h"

namespace stator {
namespace {

template <class List>
bool are(const c10::IValue* expected, const List& actual) {
  if (is_none(expected)) return true;
  if (!expected || !expected->isIntList()) return false;
  const auto list = expected->toIntList();
  return std::equal(list.begin(), list.end(), actual.begin(), actual.end());
}

// (tensor, sizes, strides, dtype, device, layout): what is None is not asked for.
bool bind_metadata(Binding& binding) {
  const TensorView* tensor = binding.tensor(0);
  if (!tensor || !are(binding.known(1), tensor->meta.sizes) || !are(binding.known(2), tensor->meta.strides))
    return false;
  const c10::IValue *dtype = binding.known(3), *device = binding.known(4), *layout = binding.known(5);
  if (!dtype || !device || !layout) return false;
  return (dtype->isNone() || dtype->toScalarType() == tensor->meta.dtype) &&
         (device->isNone() || device->toDevice().is_cpu()) && (layout->isNone() || layout->toLayout() == at::kStrided);
}

// (condition, message)
bool bind_scalar(Binding& binding) {
  const c10::IValue* condition = binding.known(0);
  return condition && condition->isScalar() && condition->toScalar().toBool();
}

const BinderRegistration kMetadata("aten::_assert_tensor_metadata", bind_metadata);
const BinderRegistration kScalar("aten::_assert_scalar", bind_scalar);

}  // namespace
}  // namespace stator
