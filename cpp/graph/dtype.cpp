#include "graph/dtype.h"

#include <array>
#include <utility>

namespace stator {
namespace {

constexpr std::array<std::pair<at::ScalarType, const char*>, 21> kNames{{
    {at::kFloat, "float32"},
    {at::kDouble, "float64"},
    {at::kHalf, "float16"},
    {at::kBFloat16, "bfloat16"},
    {at::kLong, "int64"},
    {at::kInt, "int32"},
    {at::kShort, "int16"},
    {at::kChar, "int8"},
    {at::kByte, "uint8"},
    {at::kUInt16, "uint16"},
    {at::kUInt32, "uint32"},
    {at::kUInt64, "uint64"},
    {at::kBool, "bool"},
    {at::kComplexHalf, "complex32"},
    {at::kComplexFloat, "complex64"},
    {at::kComplexDouble, "complex128"},
    {at::kFloat8_e4m3fn, "float8_e4m3fn"},
    {at::kFloat8_e4m3fnuz, "float8_e4m3fnuz"},
    {at::kFloat8_e5m2, "float8_e5m2"},
    {at::kFloat8_e5m2fnuz, "float8_e5m2fnuz"},
    {at::kFloat8_e8m0fnu, "float8_e8m0fnu"},
}};

}  // namespace

const char* dtype_name(at::ScalarType dtype) {
  for (auto& [type, name] : kNames) {
    if (type == dtype) return name;
  }
  return c10::toString(dtype);
}

std::optional<at::ScalarType> dtype_from_name(std::string_view wanted) {
  for (auto& [type, name] : kNames) {
    if (wanted == name) return type;
  }
  return std::nullopt;
}

std::string describe_tensor(const at::Tensor& tensor) {
  if (!tensor.defined()) return "an undefined tensor";
  std::string out = std::string(dtype_name(tensor.scalar_type())) + "[";
  for (int64_t i = 0; i < tensor.dim(); ++i) {
    if (i) out += ", ";
    out += std::to_string(tensor.size(i));
  }
  return out + "]";
}

}  // namespace stator
