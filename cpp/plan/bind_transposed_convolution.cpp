// One product of matrices gives what each element of the input adds to the result, tap by tap of the window. Results whose distance is a
// multiple of the strides get theirs from the same taps, but for some at the borders: each such part of the result is one sum.
#include "plan/transposed_convolution.h"

#include <algorithm>

#include "plan/collapse.h"
#include "plan/product.h"
#include "plan/rearrange.h"
#include "plan/windows.h"

namespace stator {
namespace {

// A pass over memory for each part, or more where it has many taps.
constexpr size_t kMostParts = 100;
constexpr size_t kMostTaps = 32;
constexpr size_t kMostAtOnce = 8;  // a tile program has not many more registers

struct Transposed : Windows {
  TensorView input, weight, result;
  std::optional<TensorView> bias;
  int64_t images = 1, groups = 1, in_channels = 0, out_channels = 0;

  int64_t taps() const { return size[0] * size[1]; }
  int64_t elements() const { return in[0] * in[1]; }
};

bool take_tensors(Binding& binding, Transposed& conv) {
  const TensorView *input = float_tensor(binding, 0, 2, 4), *weight = float_tensor(binding, 1, 3, 4);
  const TensorView* bias = float_tensor(binding, 2, 1, 1);
  const TensorMeta* seen = binding.observed(0);
  if (!input || !weight || !seen || (!bias && !is_none(binding.known(2))) || !weight->meta.is_contiguous())
    return false;
  conv.dims = weight->meta.dim() - 2;
  const int64_t first = input->meta.dim() - conv.dims;
  if ((first != 1 && first != 2) || seen->dtype != at::kFloat || seen->dim() != input->meta.dim() || seen->numel() == 0)
    return false;
  conv.input = *input;
  conv.weight = *weight;
  if (bias) conv.bias = *bias;
  conv.images = first == 2 ? input->meta.sizes[0] : 1;
  conv.in_channels = input->meta.sizes[first - 1];
  conv.out_channels = seen->sizes[first - 1];
  set_input(conv, input->meta, first);
  for (int64_t d = 0; d < conv.dims; ++d) {
    conv.size[2 - conv.dims + d] = weight->meta.sizes[2 + d];
    conv.out[2 - conv.dims + d] = seen->sizes[first + d];
  }
  conv.result = binding.result(0, at::kFloat, seen->sizes, seen->strides);
  return true;
}

bool take_numbers(const Binding& binding, TransposedArguments arguments, Transposed& conv) {
  const c10::IValue* groups = binding.known(arguments.groups);
  if (!groups || !groups->isInt() || groups->toInt() < 1) return false;
  // The size that was seen follows from the signature only with this.
  if (!binding.known(arguments.output_padding)) return false;
  conv.groups = groups->toInt();
  return conv.weight.meta.sizes[0] == conv.in_channels && conv.in_channels % conv.groups == 0 &&
         conv.weight.meta.sizes[1] * conv.groups == conv.out_channels &&
         (!conv.bias || conv.bias->meta.numel() == conv.out_channels) &&
         take_pair(binding.known(3), conv.dims, conv.stride) && take_pair(binding.known(4), conv.dims, conv.before) &&
         take_pair(binding.known(arguments.dilation), conv.dims, conv.dilation);
}

// [images, output channels and taps, elements of the input], contiguous; nullopt: no kernel multiplies these.
std::optional<TensorView> products_of(Binding& binding, const Transposed& conv) {
  const TensorMeta& meta = conv.input.meta;
  const int64_t first = meta.dim() - conv.dims, channels = conv.in_channels / conv.groups;
  const auto elements = collapse(meta, first, meta.dim());
  if (!elements) return std::nullopt;
  const int64_t rows = conv.out_channels / conv.groups * conv.taps(), columns = conv.elements(),
                matrix = rows * columns;
  const int64_t in_image = first == 2 ? meta.strides[0] : 0, in_channel = meta.strides[first - 1];
  const TensorView to = binding.scratch(at::kFloat, {conv.images, conv.out_channels * conv.taps(), columns});
  Product product{conv.weight, conv.input, {}, {}, {}, {}, {}};
  product.a = {{1, conv.groups, rows, channels}, {0, channels * rows, 1, rows}};
  product.b = {{conv.images, conv.groups, channels, columns},
               {in_image, channels * in_channel, in_channel, elements->stride}};
  product.c = {{conv.images, conv.groups, rows, columns}, {conv.groups * matrix, matrix, columns, 1}};
  if (!bind_product_into(binding, product, to)) return std::nullopt;
  return to;
}

int64_t floor_quotient(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

// Results along one dimension, as far from one another as the stride, to which the same taps of the window add.
struct Segment {
  struct Tap {
    int64_t place, from;  // in the window; the first element of the input
  };
  int64_t begin, count;
  std::vector<Tap> taps{};
};

// Those from `phase` on, each a stride behind the one before.
void append_segments(const Transposed& conv, int d, int64_t phase, std::vector<Segment>& segments) {
  const int64_t stride = conv.stride[d], count = (conv.out[d] - phase - 1) / stride + 1;
  struct Reach {
    int64_t place, first, end;  // among these results
    int64_t from;               // the element of the input that adds to the first
  };
  std::vector<Reach> reaches;
  std::vector<int64_t> borders{0, count};
  for (int64_t place = 0; place < conv.size[d]; ++place) {
    const int64_t shift = place * conv.dilation[d] - conv.before[d], step = floor_quotient(shift, stride);
    if (shift - step * stride != phase) continue;
    const int64_t first = std::max<int64_t>(0, step), end = std::min(count, step + conv.in[d]);
    if (first >= end) continue;
    reaches.push_back({place, first, end, first - step});
    borders.insert(borders.end(), {first, end});
  }
  std::sort(borders.begin(), borders.end());
  borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
  for (size_t i = 0; i + 1 < borders.size(); ++i) {
    Segment segment{phase + borders[i] * stride, borders[i + 1] - borders[i]};
    for (const Reach& reach : reaches) {
      if (reach.first <= borders[i] && borders[i] < reach.end)
        segment.taps.push_back({reach.place, reach.from + borders[i] - reach.first});
    }
    segments.push_back(std::move(segment));
  }
}

std::vector<Segment> segments_of(const Transposed& conv, int d) {
  std::vector<Segment> segments;
  for (int64_t phase = 0; phase < std::min(conv.stride[d], conv.out[d]); ++phase)
    append_segments(conv, d, phase, segments);
  return segments;
}

size_t most_taps(const std::vector<Segment>& segments) {
  size_t most = 0;
  for (const Segment& segment : segments) most = std::max(most, segment.taps.size());
  return most;
}

// What one tap adds, as [images, channels, rows, columns].
TensorView added_by(const Transposed& conv, TensorView products, Segment::Tap row, Segment::Tap column, int64_t rows,
                    int64_t columns) {
  const int64_t place = row.place * conv.size[1] + column.place, of_image = products.meta.strides[0];
  const int64_t first = place * conv.elements() + row.from * conv.in[1] + column.from;
  products.offset += first * products.meta.itemsize();
  Walk walk(std::move(products));
  walk.dim(conv.images, of_image).dim(conv.out_channels, conv.taps() * conv.elements());
  return walk.dim(rows, conv.in[1]).dim(columns, 1).view();
}

TensorView part_of_result(const Transposed& conv, const Segment& rows, const Segment& columns) {
  const at::DimVector& strides = conv.result.meta.strides;
  const int64_t first = conv.result.meta.dim() - conv.dims;
  const int64_t row = conv.dims == 2 ? strides[first] : 0, column = strides.back();
  TensorView view = conv.result;
  view.offset += (rows.begin * row + columns.begin * column) * view.meta.itemsize();
  Walk walk(std::move(view));
  walk.dim(conv.images, first == 2 ? strides[0] : 0).dim(conv.out_channels, strides[first - 1]);
  return walk.dim(rows.count, row * conv.stride[0]).dim(columns.count, column * conv.stride[1]).view();
}

// What is added in a part of the result.
std::vector<TensorView> addends(const Transposed& conv, const TensorView& products, const Segment& rows,
                                const Segment& columns) {
  std::vector<TensorView> out;
  for (const Segment::Tap& row : rows.taps) {
    for (const Segment::Tap& column : columns.taps)
      out.push_back(added_by(conv, products, row, column, rows.count, columns.count));
  }
  if (conv.bias)
    out.push_back(Walk(*conv.bias).dim(conv.out_channels, conv.bias->meta.strides[0]).dim(1, 0).dim(1, 0).view());
  return out;
}

void add_at_once(Binding& binding, const std::vector<TensorView>& addends, const TensorView& to) {
  TileExpression expression(to.meta.sizes);
  std::optional<TileExpression::Node> sum;
  for (const TensorView& addend : addends) {
    const auto loaded = expression.load(addend);
    sum = sum ? expression.op(TileOpcode::kAdd, *sum, loaded) : loaded;
  }
  expression.store(sum ? *sum : expression.number(0.0, TileType::kFloat), to);
  binding.run(std::move(expression));
}

void add_up(Binding& binding, std::vector<TensorView> addends, const TensorView& to) {
  while (addends.size() > kMostAtOnce) {
    const TensorView sum = binding.scratch(at::kFloat, to.meta.sizes);
    const auto rest = addends.begin() + kMostAtOnce - 1;
    add_at_once(binding, {addends.begin(), rest}, sum);
    addends.erase(addends.begin(), rest);
    addends.push_back(sum);
  }
  add_at_once(binding, addends, to);
}

}  // namespace

bool bind_transposed_convolution(Binding& binding, TransposedArguments arguments) {
  Transposed conv;
  if (!take_tensors(binding, conv) || !take_numbers(binding, arguments, conv)) return false;
  const std::vector<Segment> rows = segments_of(conv, 0), columns = segments_of(conv, 1);
  if (rows.size() * columns.size() > kMostParts || most_taps(rows) * most_taps(columns) > kMostTaps) return false;
  const auto products = products_of(binding, conv);
  if (!products) return false;
  for (const Segment& some_rows : rows) {
    for (const Segment& some_columns : columns)
      add_up(binding, addends(conv, *products, some_rows, some_columns), part_of_result(conv, some_rows, some_columns));
  }
  return true;
}

namespace {

// (input, weight, bias, stride, padding, output padding, groups, dilation)
bool bind_transposed(Binding& binding) {
  return bind_transposed_convolution(binding, {.groups = 6, .dilation = 7, .output_padding = 5});
}

const BinderRegistration kTransposedConvolutions[] = {
    {"aten::conv_transpose1d", bind_transposed},
    {"aten::conv_transpose2d.input", bind_transposed},
};

}  // namespace
}  // namespace stator
