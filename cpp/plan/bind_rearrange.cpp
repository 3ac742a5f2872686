// Operators that only put elements elsewhere, some of them several times: copies between views.
#include <algorithm>

#include "plan/collapse.h"
#include "plan/rearrange.h"

namespace stator {
namespace {

// Each dimension of the result is a number of repeats around one of self's; new ones come first.
bool repeat(Binding& binding, const TensorView& self, at::IntArrayRef counts) {
  const auto result = result_like_observed(binding);
  if (!result || counts.size() != result->meta.sizes.size() || counts.size() < self.meta.sizes.size()) return false;
  Walk from(self), to(*result);
  const size_t fresh = counts.size() - self.meta.sizes.size();
  for (size_t d = 0; d < counts.size(); ++d) {
    const int64_t size = d < fresh ? 1 : self.meta.sizes[d - fresh], stride = result->meta.strides[d];
    from.dim(counts[d], 0).dim(size, d < fresh ? 0 : self.meta.strides[d - fresh]);
    to.dim(counts[d], size * stride).dim(size, stride);
  }
  return copy(binding, from.view(), to.view());
}

// (self, repeats)
bool bind_repeat(Binding& binding) {
  const TensorView* self = binding.tensor(0);
  const c10::IValue* repeats = binding.known(1);
  return self && repeats && repeats->isIntList() && repeat(binding, *self, repeats->toDimVector());
}

// (self, repeats): as many as there are count from the last dimension on.
bool bind_tile(Binding& binding) {
  const TensorView* self = binding.tensor(0);
  const c10::IValue* repeats = binding.known(1);
  if (!self || !repeats || !repeats->isIntList()) return false;
  at::DimVector counts = repeats->toDimVector();
  if (counts.size() < self->meta.sizes.size())
    counts.insert(counts.begin(), self->meta.sizes.size() - counts.size(), 1);
  return repeat(binding, *self, counts);
}

// (self, repeats, dim)
bool bind_repeat_interleave(Binding& binding) {
  const TensorView* self = binding.tensor(0);
  const c10::IValue* repeats = binding.known(1);
  const auto dim = self ? wrapped_dim(binding.known(2), self->meta.dim()) : std::nullopt;
  return dim && repeats && repeats->isInt() && spread(binding, *self, *dim, *dim + 1, repeats->toInt());
}

// Of a number of channels with parts of images in turns, and of whole images: the second's size is `factor` times as large each way.
// False if sizes do not say so.
bool shuffle_pixels(Binding& binding, const TensorView& parts, const TensorView& whole, int64_t r, bool to_whole) {
  const int64_t channel = whole.meta.dim() - 3;
  const auto &in = parts.meta, &out = whole.meta;
  Walk from(parts), to(whole);
  for (int64_t d = 0; d < channel; ++d) {
    from.dim(in.sizes[d], in.strides[d]);
    to.dim(out.sizes[d], out.strides[d]);
  }
  from.dim(out.sizes[channel], in.strides[channel] * r * r);
  to.dim(out.sizes[channel], out.strides[channel]);
  for (int64_t i : {1, 2}) {
    const int64_t d = channel + i;
    from.dim(in.sizes[d], in.strides[d]).dim(r, in.strides[channel] * (i == 1 ? r : 1));
    to.dim(in.sizes[d], out.strides[d] * r).dim(r, out.strides[d]);
  }
  return to_whole ? copy(binding, from.view(), to.view()) : copy(binding, to.view(), from.view());
}

// (self, factor): [..., channels * factor^2, height, width] to [..., channels, height * factor, width * factor], or back.
template <bool kToWhole>
bool bind_pixel_shuffle(Binding& binding) {
  const TensorView* self = binding.tensor(0);
  const c10::IValue* factor = binding.known(1);
  if (!self || !factor || !factor->isInt() || self->meta.dim() < 3) return false;
  const auto result = result_like_observed(binding);
  if (!result) return false;
  const TensorView &parts = kToWhole ? *self : *result, &whole = kToWhole ? *result : *self;
  return shuffle_pixels(binding, parts, whole, factor->toInt(), kToWhole);
}

// (self, groups): channels of groups, group by group, become those with one of each group side by side.
bool bind_channel_shuffle(Binding& binding) {
  const TensorView* self = binding.tensor(0);
  const c10::IValue* groups = binding.known(1);
  if (!self || !groups || !groups->isInt() || self->meta.dim() < 2) return false;
  const auto result = result_like_observed(binding);
  const int64_t count = groups->toInt();
  if (!result || count < 1 || self->meta.sizes[1] % count != 0) return false;
  const int64_t each = self->meta.sizes[1] / count;
  Walk from(*self), to(*result);
  for (int64_t d = 0; d < self->meta.dim(); ++d) {
    const int64_t in = self->meta.strides[d], out = result->meta.strides[d];
    if (d == 1) {
      from.dim(each, in).dim(count, each * in);
      to.dim(each, count * out).dim(count, out);
    } else {
      from.dim(self->meta.sizes[d], in);
      to.dim(self->meta.sizes[d], out);
    }
  }
  return copy(binding, from.view(), to.view());
}

// Parts of `self` change places along the dimensions from dims[i] on.
bool roll(Binding& binding, const TensorView& from, const TensorView& to, const std::vector<int64_t>& shifts,
          const std::vector<int64_t>& dims, size_t i) {
  if (i == dims.size()) return copy(binding, from, to);
  const int64_t size = from.meta.sizes[dims[i]], shift = ((shifts[i] % size) + size) % size;
  const auto move = [&](int64_t begin, int64_t target, int64_t count) {
    return count == 0 ||
           roll(binding, part(from, dims[i], begin, count), part(to, dims[i], target, count), shifts, dims, i + 1);
  };
  return move(0, shift, size - shift) && move(size - shift, 0, shift);
}

// (self, shifts, dims), each dimension once.
bool bind_roll(Binding& binding) {
  const TensorView* self = binding.tensor(0);
  const c10::IValue *shifts = binding.known(1), *dims = binding.known(2);
  if (!self || !shifts || !dims || !shifts->isIntList() || !dims->isIntList()) return false;
  auto along = dims->toIntVector();
  const auto by = shifts->toIntVector();
  if (along.empty() || along.size() != by.size() || along.size() > 2) return false;
  for (int64_t& dim : along) {
    const c10::IValue value(dim);
    const auto wrapped = wrapped_dim(&value, self->meta.dim());
    if (!wrapped) return false;
    dim = *wrapped;
  }
  if (along.size() == 2 && along[0] == along[1]) return false;
  const auto result = result_like_observed(binding);
  return result && result->meta.sizes == self->meta.sizes && roll(binding, *self, *result, by, along, 0);
}

// (self, dims)
bool bind_flip(Binding& binding) {
  const TensorView* self = binding.tensor(0);
  if (!self) return false;
  const auto dims = named_dims(binding.known(1), self->meta.dim());
  const auto result = result_like_observed(binding);
  if (!dims || !result || binding.known(1)->toIntVector().empty()) return false;
  TensorView from = *self;
  for (int64_t d = 0; d < from.meta.dim(); ++d) {
    if ((*dims)[d]) from = turned(from, d);
  }
  return copy(binding, from, *result);
}

// `size` elements of a dimension, from `begin` on, are `source`'s.
bool put_part(Binding& binding, const TensorView& self, const TensorView& source, int64_t dim, int64_t begin,
              int64_t size) {
  const auto result = result_like_observed(binding);
  if (!result || result->meta.sizes != self.meta.sizes) return false;
  const int64_t end = begin + size, rest = self.meta.sizes[dim] - end;
  const auto keep = [&](int64_t from, int64_t count) {
    return count == 0 || copy(binding, part(self, dim, from, count), part(*result, dim, from, count));
  };
  return copy(binding, source, part(*result, dim, begin, size)) && keep(0, begin) && keep(end, rest);
}

// (self, src, dim, start, end, step)
bool bind_slice_scatter(Binding& binding) {
  const TensorView *self = binding.tensor(0), *source = binding.tensor(1);
  const auto dim = self ? wrapped_dim(binding.known(2), self->meta.dim()) : std::nullopt;
  const c10::IValue *start = binding.known(3), *step = binding.known(5);
  if (!source || !dim || !start || !binding.known(4) || !step || !step->isInt() || step->toInt() != 1 ||
      self->meta.dim() != source->meta.dim())
    return false;
  const int64_t count = self->meta.sizes[*dim], size = source->meta.sizes[*dim];
  int64_t begin = start->isInt() ? start->toInt() : 0;
  if (begin < 0) begin = std::max<int64_t>(begin + count, 0);
  // LibTorch has looked at the end.
  return begin + size <= count && size > 0 && put_part(binding, *self, *source, *dim, begin, size);
}

// (self, src, dim, index)
bool bind_select_scatter(Binding& binding) {
  const TensorView *self = binding.tensor(0), *source = binding.tensor(1);
  const auto dim = self ? wrapped_dim(binding.known(2), self->meta.dim()) : std::nullopt;
  const c10::IValue* index = binding.known(3);
  if (!source || !dim || !index || !index->isInt() || self->meta.dim() != source->meta.dim() + 1) return false;
  const int64_t count = self->meta.sizes[*dim], begin = index->toInt() < 0 ? index->toInt() + count : index->toInt();
  TensorView row = *source;
  row.meta.sizes.insert(row.meta.sizes.begin() + *dim, 1);
  row.meta.strides.insert(row.meta.strides.begin() + *dim, 0);
  return begin >= 0 && begin < count && put_part(binding, *self, row, *dim, begin, 1);
}

const BinderRegistration kRepeat("aten::repeat", bind_repeat);
const BinderRegistration kRepeatInterleave("aten::repeat_interleave.self_int", bind_repeat_interleave);
const BinderRegistration kSliceScatter("aten::slice_scatter", bind_slice_scatter);
const BinderRegistration kSelectScatter("aten::select_scatter", bind_select_scatter);
const BinderRegistration kFlip("aten::flip", bind_flip);
const BinderRegistration kTile("aten::tile", bind_tile);
const BinderRegistration kPixelShuffle("aten::pixel_shuffle", bind_pixel_shuffle<true>);
const BinderRegistration kPixelUnshuffle("aten::pixel_unshuffle", bind_pixel_shuffle<false>);
const BinderRegistration kChannelShuffle("aten::channel_shuffle", bind_channel_shuffle);
const BinderRegistration kNativeChannelShuffle("aten::native_channel_shuffle", bind_channel_shuffle);
const BinderRegistration kRoll("aten::roll", bind_roll);

}  // namespace
}  // namespace stator
