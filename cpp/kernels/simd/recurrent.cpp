// Recurrent networks: recurrent.h says what each kernel takes. Compiled once per CPU capability.
#include "kernels/recurrent.h"

#include "kernels/parallel.h"
#include "kernels/simd/exponential.h"
#include "kernels/simd/matmul_tiles.h"

namespace stator::CPU_CAPABILITY {

extern const RecurrentKernels recurrent_kernels;

namespace {

// One member of the batch at one step. `gates` has what the recurrent product gives.
struct Row {
  const float *projected, *gates;
  const float *hidden_before, *cell_before;
  float *out, *cell;
  int64_t hidden;
};

// All of a vector's elements, where the last vector of a row has a Part.
struct Whole {
  STATOR_INLINE static Lanes load(const float* from) { return CPU_CAPABILITY::load(from); }
  STATOR_INLINE static void store(Lanes value, float* to) { CPU_CAPABILITY::store(value, to); }
};

struct LstmCell {
  static constexpr int64_t kGates = 4;
  static constexpr bool kHasCell = true, kAddsProjected = true;

  template <class Some>
  STATOR_INLINE static void at(const Row& row, int64_t i, const Some& some) {
    const float* gates = row.gates + i;
    const Lanes in = sigmoid_of(some.load(gates)), forget = sigmoid_of(some.load(gates + row.hidden));
    const Lanes candidate = tanh_of(some.load(gates + 2 * row.hidden));
    const Lanes cell = fused(forget, some.load(row.cell_before + i), in * candidate);
    some.store(cell, row.cell + i);
    some.store(sigmoid_of(some.load(gates + 3 * row.hidden)) * tanh_of(cell), row.out + i);
  }
};

struct GruCell {
  static constexpr int64_t kGates = 3;
  static constexpr bool kHasCell = false, kAddsProjected = false;

  template <class Some>
  STATOR_INLINE static void at(const Row& row, int64_t i, const Some& some) {
    const auto projected = [&](int64_t gate) { return some.load(row.projected + gate * row.hidden + i); };
    const auto recurrent = [&](int64_t gate) { return some.load(row.gates + gate * row.hidden + i); };
    const Lanes reset = sigmoid_of(projected(0) + recurrent(0)), update = sigmoid_of(projected(1) + recurrent(1));
    const Lanes fresh = tanh_of(fused(reset, recurrent(2), projected(2)));
    some.store(fused(some.load(row.hidden_before + i) - fresh, update, fresh), row.out + i);
  }
};

template <bool kRelu>
struct PlainCell {
  static constexpr int64_t kGates = 1;
  static constexpr bool kHasCell = false, kAddsProjected = true;

  template <class Some>
  STATOR_INLINE static void at(const Row& row, int64_t i, const Some& some) {
    const Lanes sum = some.load(row.gates + i);
    some.store(kRelu ? relu_of(sum) : tanh_of(sum), row.out + i);
  }
};

struct Range {
  int64_t begin, end;
};

template <class Cell>
void finish_row(const Row& row, const Range& units) {
  int64_t i = units.begin;
  for (; i + kWidth <= units.end; i += kWidth) Cell::at(row, i, Whole{});
  if (i < units.end) Cell::at(row, i, Part(units.end - i));
}

struct Layer {
  const float *projected, *weights, *hidden_before, *cell_before, *bias;
  float *out, *gates, *last_cell, *last_hidden;
};

template <class Cell>
Layer layer_of(const RecurrentSpec& spec, void* const* addresses) {
  Layer layer{};
  layer.projected = static_cast<const float*>(*addresses++);
  layer.weights = static_cast<const float*>(*addresses++);
  layer.hidden_before = static_cast<const float*>(*addresses++);
  if (Cell::kHasCell) layer.cell_before = static_cast<const float*>(*addresses++);
  if (spec.has_bias) layer.bias = static_cast<const float*>(*addresses++);
  layer.out = static_cast<float*>(*addresses++);
  layer.gates = static_cast<float*>(*addresses++);
  if (Cell::kHasCell) layer.last_cell = static_cast<float*>(*addresses++);
  if (spec.writes_last_hidden) layer.last_hidden = static_cast<float*>(*addresses++);
  return layer;
}

// States before a step, and how far the rows of a batch are apart.
struct Before {
  const float* hidden;
  int64_t hidden_row;
  const float* cell;
  int64_t cell_row;
};

// As many columns as a tile of one row has.
constexpr int64_t kStrip = 4 * kPanel;

// What of each step some parts do: strips of the gates' columns, and units of the state.
struct Share {
  Range strips, units;
  int64_t parts;
  Barrier* barrier;  // NULL: there is nobody else
};

// Of `count` things of `size` numbers each, `numbers` in all.
Range range_of(const Range& parts, int64_t all, int64_t numbers, int64_t size) {
  const int64_t count = quotient_up(numbers, size);
  return {parts.begin * count / all, parts.end * count / all};
}

template <class Cell>
Share share_of(const RecurrentSpec& spec, const Range& parts, Barrier* barrier) {
  const Range vectors = range_of(parts, spec.parts, spec.hidden, kWidth);
  return {range_of(parts, spec.parts, Cell::kGates * spec.hidden, kStrip),
          {vectors.begin * kWidth, least(vectors.end * kWidth, spec.hidden)},
          parts.end - parts.begin,
          barrier};
}

void wait_for_others(const Share& share) {
  if (share.barrier) share.barrier->wait(share.parts);
}

// What the state before gives to the gates.
template <class Cell>
void multiply_state(const RecurrentSpec& spec, const Layer& layer, const Before& before, const float* projected,
                    const Range& strips, bool from_last) {
  const int64_t width = Cell::kGates * spec.hidden;
  const float* add = Cell::kAddsProjected ? projected : layer.bias;
  for (int64_t i = strips.begin; i < strips.end; ++i) {
    const int64_t column = (from_last ? strips.begin + strips.end - 1 - i : i) * kStrip;
    multiply<Last::kPartOfPanel>(
        Product<>{spec.batch, least(kStrip, width - column), spec.hidden, before.hidden, before.hidden_row, 1,
                  layer.weights + column * spec.hidden, kPanel, kPanel * spec.hidden, layer.gates + column, width,
                  add ? add + column : nullptr, Cell::kAddsProjected ? spec.projected_row : 0});
  }
}

template <class Cell>
void finish_step(const RecurrentSpec& spec, const Layer& layer, const Before& before, const float* projected,
                 float* out, const Range& units) {
  for (int64_t b = 0; b < spec.batch; ++b) {
    Row row{};
    row.projected = projected + b * spec.projected_row;
    row.gates = layer.gates + b * Cell::kGates * spec.hidden;
    row.hidden_before = before.hidden + b * before.hidden_row;
    row.out = out + b * spec.out_row;
    row.hidden = spec.hidden;
    if (Cell::kHasCell) {
      row.cell_before = before.cell + b * before.cell_row;
      row.cell = layer.last_cell + b * spec.hidden;
    }
    finish_row<Cell>(row, units);
  }
}

template <class Cell>
void run_steps(const RecurrentSpec& spec, const Layer& layer, const Share& share) {
  Before before{layer.hidden_before, spec.hidden_before_row, layer.cell_before, spec.cell_before_row};
  for (int64_t i = 0; i < spec.steps; ++i) {
    const int64_t t = spec.backward ? spec.steps - 1 - i : i;
    const float* projected = layer.projected + t * spec.projected_step;
    float* out = layer.out + t * spec.out_step;
    // To and fro: the weights that the last step used last are still in the second level cache.
    multiply_state<Cell>(spec, layer, before, projected, share.strips, i % 2 != 0);
    wait_for_others(share);
    finish_step<Cell>(spec, layer, before, projected, out, share.units);
    wait_for_others(share);
    before = {out, spec.out_row, layer.last_cell, spec.hidden};
  }
  if (!spec.writes_last_hidden) return;
  for (int64_t b = 0; b < spec.batch; ++b) {
    __builtin_memcpy(layer.last_hidden + b * spec.hidden + share.units.begin,
                     before.hidden + b * before.hidden_row + share.units.begin,
                     static_cast<size_t>(share.units.end - share.units.begin) * sizeof(float));
  }
}

template <class Cell>
bool run_layer(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const RecurrentSpec*>(specification);
  const Layer layer = layer_of<Cell>(spec, addresses);
  if (spec.parts == 1) {
    run_steps<Cell>(spec, layer, share_of<Cell>(spec, {0, 1}, nullptr));
    return true;
  }
  struct Whole {
    const RecurrentSpec& spec;
    const Layer& layer;
    Barrier& barrier;
  };
  Barrier barrier(spec.parts);
  const Whole all{spec, layer, barrier};
  run_parts_together(
      spec.parts,
      [](const void* whole, int64_t first, int64_t end) {
        const auto& [spec, layer, barrier] = *static_cast<const Whole*>(whole);
        run_steps<Cell>(spec, layer, share_of<Cell>(spec, {first, end}, &barrier));
      },
      &all);
  return true;
}

}  // namespace

const RecurrentKernels recurrent_kernels{run_layer<LstmCell>, run_layer<GruCell>, run_layer<PlainCell<false>>,
                                         run_layer<PlainCell<true>>};

}  // namespace stator::CPU_CAPABILITY
