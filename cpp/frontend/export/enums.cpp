#include "frontend/export/enums.h"

#include <array>
#include <string>
#include <utility>

#include "graph/error.h"

namespace stator::exported {
namespace {

// From torch/_export/serde/schema.py.
constexpr std::array<std::pair<int64_t, at::ScalarType>, 21> kDtypes{{
    {1, at::kByte},
    {2, at::kChar},
    {3, at::kShort},
    {4, at::kInt},
    {5, at::kLong},
    {6, at::kHalf},
    {7, at::kFloat},
    {8, at::kDouble},
    {9, at::kComplexHalf},
    {10, at::kComplexFloat},
    {11, at::kComplexDouble},
    {12, at::kBool},
    {13, at::kBFloat16},
    {28, at::kUInt16},
    {29, at::kFloat8_e4m3fn},
    {30, at::kFloat8_e5m2},
    {31, at::kFloat8_e4m3fnuz},
    {32, at::kFloat8_e5m2fnuz},
    {33, at::kFloat8_e8m0fnu},
    {34, at::kUInt32},
    {35, at::kUInt64},
}};

constexpr std::array<std::pair<int64_t, at::Layout>, 7> kLayouts{{
    {1, at::kSparse},
    {2, at::kSparseCsr},
    {3, at::kSparseCsc},
    {4, at::kSparseBsr},
    {5, at::kSparseBsc},
    {6, at::kMkldnn},
    {7, at::kStrided},
}};

constexpr std::array<std::pair<int64_t, at::MemoryFormat>, 4> kMemoryFormats{{
    {1, at::MemoryFormat::Contiguous},
    {2, at::MemoryFormat::ChannelsLast},
    {3, at::MemoryFormat::ChannelsLast3d},
    {4, at::MemoryFormat::Preserve},
}};

template <class Table>
auto look_up(const Table& table, int64_t number, const char* what) {
  for (const auto& [known, meaning] : table) {
    if (known == number) return meaning;
  }
  throw Error(ErrorCode::kBadModel, std::string("unknown number of a ") + what + ": " + std::to_string(number));
}

}  // namespace

at::ScalarType dtype_of(int64_t number) { return look_up(kDtypes, number, "dtype"); }
at::Layout layout_of(int64_t number) { return look_up(kLayouts, number, "layout"); }
at::MemoryFormat memory_format_of(int64_t number) { return look_up(kMemoryFormats, number, "memory format"); }

}  // namespace stator::exported
