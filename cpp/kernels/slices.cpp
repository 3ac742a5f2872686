#include "kernels/slices.h"

#include <algorithm>

#include "kernels/parallel.h"

namespace stator {
namespace {

struct Slices {
  const SlicesSpec& spec;
  void* const* addresses;

  void run(const SlicesSpec::Call& call, int64_t outer, int64_t row, int64_t part) const {
    void* operands[kMostSliceOperands];
    void** next = operands;
    for (const auto& [address, row_step, part_step, outer_step] : call.operands)
      *next++ = static_cast<char*>(addresses[address]) + outer * outer_step + row * row_step + part * part_step;
    call.kernel(call.specification.get(), operands);
  }
  void run_part(int64_t part) const {
    const int64_t each = spec.slices_each(), slices = spec.outer * each;
    const int64_t first = part * slices / spec.parts, end = (part + 1) * slices / spec.parts;
    for (int64_t slice = first; slice < end; ++slice) {
      const int64_t outer = slice / each, row = std::min(slice % each * spec.height, spec.rows - spec.height);
      for (const SlicesSpec::Call& call : spec.calls) {
        if (slice == first || !call.once) run(call, outer, row, part);
      }
    }
  }
};

}  // namespace

bool run_slices(const void* specification, void* const* addresses) {
  const Slices all{*static_cast<const SlicesSpec*>(specification), addresses};
  run_parts(
      all.spec.parts, [](const void* whole, int64_t part) { static_cast<const Slices*>(whole)->run_part(part); }, &all);
  return true;
}

}  // namespace stator
