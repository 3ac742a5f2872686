// How a node of a traced run becomes bound kernels.
//
// A *binder* looks at what is known of a node's arguments under one signature. If there are kernels for them, it says what the results look
// like and which kernels make them, and returns true; else false. What it says is compared with what the operator was seen to give, and
// thrown away if dtype, sizes or strides differ: a binder need not think of what it does not know, but must never be wrong about values.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "kernels/bound_kernel.h"
#include "plan/kernel_variants.h"
#include "plan/tensor_view.h"
#include "plan/tile_expression.h"

namespace stator {

class Binding {
 public:
  virtual ~Binding() = default;

  virtual const Node& node() const = 0;
  // Argument i, if its value follows from the signature: numbers, None, lists of numbers. NULL: not known. Never a tensor.
  virtual const c10::IValue* known(size_t i) const = 0;
  // Argument i, if it is a plain tensor; else NULL (None as well).
  virtual const TensorView* tensor(size_t i) const = 0;
  // Argument i, if it is a list of plain tensors (for aten::cat and its kin).
  virtual std::optional<std::vector<TensorView>> tensor_list(size_t i) const = 0;
  // The same with None among them (for aten::index).
  virtual std::optional<std::vector<std::optional<TensorView>>> optional_tensor_list(size_t i) const = 0;
  // The tensor behind a view if its elements never change while the plan lives: a weight. NULL: they may. It is bfloat16 or half where the call
  // is seen as one on float32 (wide_binding.h).
  virtual const at::Tensor* constant(const TensorView& view) const = 0;
  // Whether LibTorch is slow at this call, whatever its size.
  virtual bool beats_any_size() const { return false; }
  // What the operator was seen to give as result i; NULL if that was no plain tensor.
  virtual const TensorMeta* observed(size_t i) const = 0;

  // In how many parts kernels are to share work that takes one thread about so long. 1 if runs have one thread, or it is too little.
  virtual int64_t parts(double nanoseconds) = 0;

  // Result i in new memory, each element of which is to be written once: steps are joined and moved by what they read and write. Without
  // strides contiguous. If it was seen with others, it is put in that order besides.
  virtual TensorView result(size_t i, at::ScalarType dtype, at::IntArrayRef sizes, at::IntArrayRef strides = {}) = 0;
  // Where result i, which has memory already, may be written as well, because a better order of its elements is known; else nullopt.
  virtual std::optional<TensorView> result_elsewhere(size_t) { return std::nullopt; }
  // Result i is a view of what is there already.
  virtual void result_is(size_t i, TensorView view) = 0;
  // Result i is a number, list of numbers or None.
  virtual void result_is_known(size_t i, c10::IValue value) = 0;
  // Contiguous memory for what lies between two kernels, or for one alone.
  virtual TensorView scratch(at::ScalarType dtype, at::IntArrayRef sizes) = 0;
  // A constant of the plan's own.
  virtual TensorView keep(at::Tensor constant) = 0;
  // A constant weight in the form that a kernel wants, which looks like `meta`. Made once in a module for all its plans: `form` names what
  // `fill` writes of `weight`.
  virtual TensorView packed(const at::Tensor& weight, std::string_view form, const TensorMeta& meta,
                            const std::function<void(at::Tensor&)>& fill) = 0;

  // Calls `kernel` with the addresses of `reads`, then of `writes` (scratch is among the writes). `can_fail`: it may return false.
  virtual void run(BoundKernel kernel, std::shared_ptr<const void> spec, std::vector<TensorView> reads,
                   std::vector<TensorView> writes, bool can_fail = false) = 0;
  // Whether anybody asks what kernels could do besides.
  virtual bool takes_variants() const { return false; }
  // That of the kernel of the last run().
  virtual void can_also(std::shared_ptr<const KernelVariants>) {}
  // Pointwise work, which other such may be joined with.
  virtual void run(TileExpression expression) = 0;
  template <class Spec>
  void run_with(BoundKernel kernel, Spec spec, std::vector<TensorView> reads, std::vector<TensorView> writes,
                bool can_fail = false) {
    run(kernel, std::make_shared<const Spec>(std::move(spec)), std::move(reads), std::move(writes), can_fail);
  }
  // For a kernel whose first result may have strides of its own.
  template <class Spec>
  void can_place(typename Placeable<Spec>::Place place) {
    if (takes_variants()) can_also(std::make_shared<const Placeable<Spec>>(std::move(place)));
  }
  // For a kernel that is made of rows.
  template <class Spec>
  void has_rows(int64_t Spec::* count, const Spec& spec, std::vector<int64_t> read_steps,
                std::vector<int64_t> write_steps) {
    KernelRows rows{spec.*count, spec.parts, std::move(read_steps), std::move(write_steps)};
    if (takes_variants()) can_also(std::make_shared<const RowVariants<Spec>>(count, std::move(rows)));
  }
};

using Binder = bool (*)(Binding&);

// A static object in any bind_*.cpp; `key` is an operator's key ("aten::add.Tensor") or an opcode's name ("prim::VarCat").
struct BinderRegistration {
  BinderRegistration(std::string_view key, Binder binder);
};

// NULL if there is none.
Binder find_binder(const Node& node);
Binder find_binder(std::string_view key);

}  // namespace stator
