// What else a bound kernel can do than it was bound for: for passes that see what becomes of its results.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/bound_kernel.h"
#include "plan/tensor_meta.h"

namespace stator {

// A kernel's work on one of some slices of its output channels, in one part. It has no results but the first.
struct KernelSlice {
  // Done once before: its addresses are what the kernel reads first, and so many bytes, which slices read in place of that.
  struct Preparation {
    BoundKernel kernel;
    std::shared_ptr<const void> specification;
    int64_t bytes;
  };

  std::shared_ptr<const void> specification;
  std::vector<int64_t> read_steps;  // bytes from what it reads for a slice to what it reads for the next one
  int64_t write_step = 0;           // the same of its result
  int64_t parts = 1;                // that all slices together were to be made in
  std::optional<Preparation> preparation{};
};

// The rows of a kernel whose results each depend on one row of what it reads, and on what is the same for all.
struct KernelRows {
  int64_t count, parts;
  std::vector<int64_t> read_steps, write_steps;  // bytes from one row to the next
};

// Specifications are what the kernel was bound with, or what another variant gave. NULL: the kernel cannot do that.
class KernelVariants {
 public:
  virtual ~KernelVariants() = default;
  // With result `write`, of the same sizes and dtype, lying as `to` says.
  virtual std::shared_ptr<const void> placed(const void*, size_t /*write*/, const TensorMeta& /*to*/) const {
    return nullptr;
  }
  // With what is below `least` in its only result made that, then what is above `most`; a NaN stays.
  virtual std::shared_ptr<const void> clamped(const void*, float /*least*/, float /*most*/) const { return nullptr; }
  // With another tensor of float32, which it then reads last, added to its only result; `addend` sees it with the result's sizes.
  virtual std::shared_ptr<const void> added(const void*, const TensorMeta& /*addend*/) const { return nullptr; }
  // Reading `inside`, with zeros around it, in place of its first input. `before`: how many of them come first, by dimension.
  virtual std::shared_ptr<const void> around_zeros(const void*, const TensorMeta& /*inside*/,
                                                   at::IntArrayRef /*before*/) const {
    return nullptr;
  }
  // One of `count` slices that make up all output channels.
  virtual std::optional<KernelSlice> slice(const void*, int64_t /*count*/) const { return std::nullopt; }
  // Its rows, and as many of them as `count`, in one part.
  virtual const KernelRows* rows() const { return nullptr; }
  virtual std::shared_ptr<const void> some_rows(const void*, int64_t /*count*/) const { return nullptr; }
};

// Of a kernel that is made of rows: `count` is the member that says of how many.
template <class Spec>
class RowVariants final : public KernelVariants {
 public:
  RowVariants(int64_t Spec::* count, KernelRows rows) : count_(count), rows_(std::move(rows)) {}

  const KernelRows* rows() const override { return &rows_; }
  std::shared_ptr<const void> some_rows(const void* specification, int64_t count) const override {
    auto some = std::make_shared<Spec>(*static_cast<const Spec*>(specification));
    (*some).*count_ = count;
    some->parts = 1;
    return some;
  }

 private:
  int64_t Spec::* count_;
  KernelRows rows_;
};

// Of a kernel whose first result may have strides of its own: `place` puts them into a specification, false if it cannot.
template <class Spec>
class Placeable final : public KernelVariants {
 public:
  using Place = std::function<bool(Spec&, const TensorMeta&)>;
  explicit Placeable(Place place) : place_(std::move(place)) {}

  std::shared_ptr<const void> placed(const void* specification, size_t write, const TensorMeta& to) const override {
    auto placed = std::make_shared<Spec>(*static_cast<const Spec*>(specification));
    return write == 0 && place_(*placed, to) ? placed : nullptr;
  }

 private:
  Place place_;
};

}  // namespace stator
