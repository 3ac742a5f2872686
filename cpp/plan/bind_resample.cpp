// Images and sequences made wider or narrower: nearest elements, and linear ones between two.
#include <ATen/ops/_upsample_nearest_exact1d.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/upsample_linear1d.h>
#include <ATen/ops/upsample_nearest1d.h>

#include <algorithm>

#include "kernels/dispatch.h"
#include "plan/collapse.h"
#include "plan/rearrange.h"

namespace stator {
namespace {

// Longer dimensions take more memory to ask for their weights than a plan is worth.
constexpr int64_t kLongestResampled = 512;

// One dimension, and by how much it grows, if the caller said so instead of to what.
struct Resized {
  int64_t from, to;
  std::optional<double> factor;
};

// What the result and its elements are made of: [images, rows, columns], one row for sequences.
struct Images {
  Run images;
  int64_t row_stride = 0;
  std::vector<Resized> dims;  // the rows, unless there is one, and the columns
};

// Arguments from `first` on: factors of all dimensions, numbers or None, or one list for all.
std::optional<double> factor_at(const Binding& binding, size_t first, bool is_list, size_t dim) {
  const c10::IValue& value = *binding.known(is_list ? first : first + dim);
  if (value.isNone()) return std::nullopt;
  return is_list ? value.toDoubleVector().at(dim) : value.toDouble();
}

// Where a factor makes a dimension just as long or twice as long without being 1 or 2, LibTorch's kernels differ in which elements they take.
bool is_disputed(const Resized& dim) {
  if (!dim.factor || dim.from == 1 || (dim.to != dim.from && dim.to != 2 * dim.from)) return false;
  return *dim.factor * static_cast<double>(dim.from) != static_cast<double>(dim.to);
}

// (input, output size, [align corners,] factors...). `factors`: the argument where they begin.
std::optional<std::vector<Resized>> dims_of(const Binding& binding, size_t factors, bool is_list) {
  const TensorView* self = binding.tensor(0);
  if (!self || self->meta.numel() == 0 || self->meta.dim() < 3 || self->meta.dim() > 4) return std::nullopt;
  const size_t count = self->meta.sizes.size() - 2;
  for (size_t i = 1; i < factors + (is_list ? 1 : count); ++i) {
    if (!binding.known(i)) return std::nullopt;
  }
  const c10::IValue& sizes = *binding.known(1);
  std::vector<Resized> dims;
  for (size_t d = 0; d < count; ++d) {
    const auto factor = factor_at(binding, factors, is_list, d);
    if (sizes.isNone() && !factor) return std::nullopt;
    const int64_t from = self->meta.sizes[2 + d];
    const int64_t to =
        sizes.isNone() ? static_cast<int64_t>(static_cast<double>(from) * *factor) : sizes.toIntVector().at(d);
    dims.push_back({from, to, factor});
    if (is_disputed(dims.back())) return std::nullopt;
  }
  return dims;
}

// Of float32 whose rows are dense, and not too long.
std::optional<Images> images_of(const Binding& binding, std::vector<Resized> dims) {
  const TensorMeta& meta = binding.tensor(0)->meta;
  const auto images = collapse(meta, 0, 2);
  if (meta.dtype != at::kFloat || !images || (meta.sizes.back() > 1 && meta.strides.back() != 1)) return std::nullopt;
  for (const Resized& dim : dims) {
    if (dim.from > kLongestResampled || dim.to > 4 * kLongestResampled || dim.to < 1) return std::nullopt;
  }
  return Images{*images, dims.size() == 2 ? meta.strides[2] : 0, std::move(dims)};
}

ResampleSpec spec_of(Binding& binding, const Images& images) {
  constexpr double kNanoseconds = 0.5;  // an element
  ResampleSpec spec{.images = images.images.size,
                    .in_image = images.images.stride,
                    .in_row = images.row_stride,
                    .out_height = images.dims.size() == 2 ? images.dims[0].to : 1,
                    .out_width = images.dims.back().to};
  spec.out_row = spec.out_width;
  spec.out_image = spec.out_height * spec.out_width;
  spec.parts = std::min(binding.parts(static_cast<double>(spec.images * spec.out_image) * kNanoseconds), spec.images);
  return spec;
}

TensorView result_of(Binding& binding, const Images& images) {
  at::DimVector sizes = binding.tensor(0)->meta.sizes;
  for (size_t d = 0; d < images.dims.size(); ++d) sizes[2 + d] = images.dims[d].to;
  return binding.result(0, at::kFloat, sizes);
}

void can_place_images(Binding& binding) {
  binding.can_place<ResampleSpec>([](ResampleSpec& spec, const TensorMeta& to) {
    const auto images = collapse(to, 0, 2);
    if (!images || (to.sizes.back() > 1 && to.strides.back() != 1)) return false;
    spec.out_image = images->stride;
    if (to.dim() == 4) spec.out_row = to.strides[2];
    return true;
  });
}

// LibTorch says itself which elements it takes: it is given their places, which float32 holds exactly.
using Nearest = at::Tensor (*)(const at::Tensor&, at::IntArrayRef, std::optional<double>);

TensorView places(Binding& binding, const Resized& dim, Nearest nearest) {
  const at::Tensor all = at::arange(dim.from, at::kFloat).view({1, 1, dim.from});
  return binding.keep(nearest(all, {dim.to}, dim.factor).flatten().to(at::kInt));
}

// Powers of two of what is not float32 are copies.
bool repeats(Binding& binding, const std::vector<Resized>& dims) {
  const TensorView& self = *binding.tensor(0);
  const int64_t times = dims.back().to / dims.back().from;
  const bool power_of_two = times > 0 && (times & (times - 1)) == 0;
  const bool is_times = std::all_of(dims.begin(), dims.end(), [&](const Resized& dim) {
    return dim.to == dim.from * times && (!dim.factor || *dim.factor == static_cast<double>(times));
  });
  return power_of_two && is_times && spread(binding, self, 2, self.meta.dim(), times);
}

bool bind_nearest(Binding& binding, Nearest nearest, bool is_list) {
  const auto dims = dims_of(binding, 2, is_list);
  if (!dims) return false;
  const auto images = images_of(binding, *dims);
  if (!images) return repeats(binding, *dims);
  const TensorView columns = places(binding, images->dims.back(), nearest);
  const TensorView rows =
      images->dims.size() == 2 ? places(binding, images->dims[0], nearest) : places(binding, {1, 1, {}}, nearest);
  binding.run_with(kernels().resample->nearest, spec_of(binding, *images), {*binding.tensor(0), columns, rows},
                   {result_of(binding, *images)});
  can_place_images(binding);
  return true;
}

struct Weighted {
  TensorView places, weights;
};

// And how much each element weighs: it is given each alone.
Weighted weighted(Binding& binding, const Resized& dim, bool align_corners) {
  const at::Tensor alone = at::eye(dim.from, at::kFloat).unsqueeze(1);
  const at::Tensor all = at::upsample_linear1d(alone, {dim.to}, align_corners, dim.factor).squeeze(1).t().contiguous();
  at::Tensor places = at::empty({2, dim.to}, at::kInt), weights = at::empty({2, dim.to}, at::kFloat);
  auto* place = places.mutable_data_ptr<int32_t>();
  auto* weight = weights.mutable_data_ptr<float>();
  for (int64_t i = 0; i < dim.to; ++i) {
    const float* row = all.const_data_ptr<float>() + i * dim.from;
    const int64_t first = std::find_if(row, row + dim.from, [](float w) { return w != 0; }) - row;
    const bool is_last = first == dim.from - 1;
    place[i] = static_cast<int32_t>(first);
    place[dim.to + i] = static_cast<int32_t>(is_last ? first : first + 1);
    // The last one stands for both, and twice the half of it is exact.
    weight[i] = is_last ? row[first] / 2 : row[first];
    weight[dim.to + i] = is_last ? row[first] / 2 : row[first + 1];
  }
  return {binding.keep(std::move(places)), binding.keep(std::move(weights))};
}

bool bind_linear(Binding& binding, bool is_list) {
  const auto dims = dims_of(binding, 3, is_list);
  const auto align_corners = known_bool(binding.known(2));
  const auto images = dims ? images_of(binding, *dims) : std::nullopt;
  if (!images || !align_corners) return false;
  const Weighted columns = weighted(binding, images->dims.back(), *align_corners);
  const Weighted rows =
      weighted(binding, images->dims.size() == 2 ? images->dims[0] : Resized{1, 1, {}}, *align_corners);
  const ResampleSpec spec = spec_of(binding, *images);
  const TensorView result = result_of(binding, *images);
  binding.run_with(kernels().resample->linear, spec,
                   {*binding.tensor(0), columns.places, columns.weights, rows.places, rows.weights},
                   {result, binding.scratch(at::kFloat, {linear_floats(spec)})});
  can_place_images(binding);
  return true;
}

at::Tensor nearest_of(const at::Tensor& x, at::IntArrayRef to, std::optional<double> factor) {
  return at::upsample_nearest1d(x, to, factor);
}
at::Tensor nearest_exact_of(const at::Tensor& x, at::IntArrayRef to, std::optional<double> factor) {
  return at::_upsample_nearest_exact1d(x, to, factor);
}

template <Nearest kNearest, bool kList>
bool nearest(Binding& binding) {
  return bind_nearest(binding, kNearest, kList);
}
template <bool kList>
bool linear(Binding& binding) {
  return bind_linear(binding, kList);
}

const BinderRegistration kResamplings[] = {
    {"aten::upsample_nearest1d", nearest<nearest_of, false>},
    {"aten::upsample_nearest1d.vec", nearest<nearest_of, true>},
    {"aten::upsample_nearest2d", nearest<nearest_of, false>},
    {"aten::upsample_nearest2d.vec", nearest<nearest_of, true>},
    {"aten::_upsample_nearest_exact1d", nearest<nearest_exact_of, false>},
    {"aten::_upsample_nearest_exact1d.vec", nearest<nearest_exact_of, true>},
    {"aten::_upsample_nearest_exact2d", nearest<nearest_exact_of, false>},
    {"aten::_upsample_nearest_exact2d.vec", nearest<nearest_exact_of, true>},
    {"aten::upsample_linear1d", linear<false>},
    {"aten::upsample_linear1d.vec", linear<true>},
    {"aten::upsample_bilinear2d", linear<false>},
    {"aten::upsample_bilinear2d.vec", linear<true>},
};

}  // namespace
}  // namespace stator
