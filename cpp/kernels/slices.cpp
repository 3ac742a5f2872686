#include "kernels/slices.h"

#include "kernels/parallel.h"

namespace stator {
namespace {

struct Slices {
  const SlicesSpec& spec;
  void* const* addresses;

  void run(const SlicesSpec::Call& call, int64_t slice, int64_t part) const {
    void* operands[kMostSliceOperands];
    void** next = operands;
    for (const auto& [address, slice_step, part_step] : call.operands)
      *next++ = static_cast<char*>(addresses[address]) + slice * slice_step + part * part_step;
    call.kernel(call.specification.get(), operands);
  }
  void run_part(int64_t part) const {
    const int64_t first = part * spec.slices / spec.parts, end = (part + 1) * spec.slices / spec.parts;
    for (int64_t slice = first; slice < end; ++slice) {
      for (const SlicesSpec::Call& call : spec.calls) {
        if (slice == first || !call.once) run(call, slice, part);
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
