// LSTM, GRU and plain recurrent networks of float32, and single cells of them, as bound kernels.
//
// A layer and direction is two kernels: one product of all steps' inputs with Wih, and the steps.
#include <ATen/EmptyTensor.h>

#include <algorithm>
#include <functional>

#include "kernels/dispatch.h"
#include "plan/binding.h"
#include "plan/collapse.h"
#include "plan/panels.h"
#include "plan/parts.h"

namespace stator {
namespace {

struct Kind {
  int64_t gates;
  BoundKernel RecurrentKernels::* kernel;
  bool has_cell = false;  // a second state
  bool bias_by_step =
      false;  // bias_hh belongs to the recurrent product, and cannot be added to the inputs' once and for all
};

constexpr Kind kLstm{4, &RecurrentKernels::lstm, true};
constexpr Kind kGru{3, &RecurrentKernels::gru, false, true};
constexpr Kind kTanh{1, &RecurrentKernels::tanh};
constexpr Kind kRelu{1, &RecurrentKernels::relu};

// Numbers for all members of a batch at all steps.
struct Sequence {
  TensorView view;
  int64_t steps, batch, width;
  int64_t step, row, column;
};

Sequence sequence(const TensorView& view, bool batch_first) {
  const auto &sizes = view.meta.sizes, &strides = view.meta.strides;
  const int time = batch_first ? 1 : 0, batch = 1 - time;
  return {view, sizes[time], sizes[batch], sizes[2], strides[time], strides[batch], sizes[2] == 1 ? 1 : strides[2]};
}

// One time step: [batch, width].
Sequence single_step(const TensorView& view) {
  const auto &sizes = view.meta.sizes, &strides = view.meta.strides;
  return {view, 1, sizes[0], sizes[1], 0, strides[0], sizes[1] == 1 ? 1 : strides[1]};
}

TensorView select(TensorView view, size_t dimension, int64_t index, int64_t size) {
  view.offset += index * view.meta.strides[dimension] * view.meta.itemsize();
  view.meta.sizes[dimension] = size;
  return view;
}

// Element `index` of the first dimension.
TensorView select_first(TensorView view, int64_t index) {
  view = select(std::move(view), 0, index, 1);
  view.meta.sizes.erase(view.meta.sizes.begin());
  view.meta.strides.erase(view.meta.strides.begin());
  return view;
}

bool is_float(const TensorView& view, int64_t dim) {
  return view.meta.dtype == at::kFloat && view.meta.dim() == dim && view.meta.numel() > 0;
}

bool has_sizes(const TensorView& view, at::IntArrayRef sizes) {
  return view.meta.dtype == at::kFloat && view.meta.sizes == sizes;
}

bool has_contiguous_rows(const TensorView& view) {
  return view.meta.sizes.back() == 1 || view.meta.strides.back() == 1;
}

// Of one layer and direction, all constant.
struct Weights {
  const at::Tensor *input = nullptr, *hidden = nullptr;            // [gates x hidden, ...]
  const at::Tensor *input_bias = nullptr, *hidden_bias = nullptr;  // both or none
};

// On one thread these kernels are never slower. LSTM, beside oneDNN: 20 times faster for one step of 128 from 128, 1.5 for 160 steps of 256
// from 40 in three layers, equal for 128 rows of 512; GRU: 8, 3.4 and 1.2.
constexpr int64_t kMostOfStep = int64_t{1} << 24;
// One row times more weights than a cache holds waits for memory, whoever does it; then packing only takes memory.
constexpr int64_t kMostRecurrentWeights = int64_t{1} << 22;

int64_t multiplications_by_step(const Kind& kind, int64_t batch, int64_t hidden) {
  return batch * kind.gates * hidden * hidden;
}

bool is_small(const Kind& kind, int64_t batch, int64_t hidden) {
  return multiplications_by_step(kind, batch, hidden) <= kMostOfStep;
}

// Threads wake up once for all steps. That they wait for one another twice a step takes a quarter of it.
int64_t parts_of_steps(Binding& binding, const Kind& kind, const Sequence& out) {
  const int64_t multiplications = multiplications_by_step(kind, out.batch, out.width) * std::min<int64_t>(out.steps, 4);
  return binding.parts(static_cast<double>(multiplications) * kMultiplicationNanoseconds);
}

// `views`: Wih, Whh and, if there are biases, theirs.
std::optional<Weights> weights_of(const Binding& binding, const TensorView* views, bool has_biases, const Kind& kind,
                                  int64_t inputs, int64_t hidden) {
  const int64_t gates = kind.gates * hidden;
  if (!has_sizes(views[0], {gates, inputs}) || !has_sizes(views[1], {gates, hidden})) return std::nullopt;
  if (views[0].meta.numel() > kMostRecurrentWeights || views[1].meta.numel() > kMostRecurrentWeights)
    return std::nullopt;
  Weights weights{binding.constant(views[0]), binding.constant(views[1])};
  if (!weights.input || !weights.hidden) return std::nullopt;
  // Of narrower ones, LibTorch rounds the states at each step.
  if (weights.input->scalar_type() != at::kFloat || weights.hidden->scalar_type() != at::kFloat) return std::nullopt;
  if (!has_biases) return weights;
  for (int i : {2, 3}) {
    if (!has_sizes(views[i], {gates}) || !has_contiguous_rows(views[i])) return std::nullopt;
  }
  weights.input_bias = binding.constant(views[2]);
  weights.hidden_bias = binding.constant(views[3]);
  if (!weights.input_bias || !weights.hidden_bias) return std::nullopt;
  return weights;
}

MatmulSpec product_with(const at::Tensor& weight) {
  MatmulSpec spec;
  spec.columns = weight.size(0);
  spec.depth = weight.size(1);
  spec.b_step = weight.size(1) == 1 ? 1 : weight.stride(1);
  spec.b_column = weight.stride(0);
  return spec;
}

// Of vectors of contiguous floats. Networks are bound at each call of the dynamic plan, and LibTorch's addition takes longer than a step.
at::Tensor sum_of(const at::Tensor& a, const at::Tensor& b) {
  at::Tensor out = at::detail::empty_cpu(a.sizes(), at::kFloat);
  const float* const first = a.const_data_ptr<float>();
  std::transform(first, first + a.numel(), b.const_data_ptr<float>(), out.mutable_data_ptr<float>(), std::plus<>());
  return out;
}

// What the inputs give to the gates at all steps, in scratch.
Sequence project(Binding& binding, const Kind& kind, const Weights& weights, const Sequence& in) {
  MatmulSpec spec = product_with(*weights.input);
  const int64_t width = spec.columns;
  Sequence out{
      binding.scratch(at::kFloat, {in.steps, in.batch, width}), in.steps, in.batch, width, in.batch * width, width, 1};
  spec.a_step = in.column;
  spec.c_row = width;
  if (in.batch == 1 || in.steps == 1 || in.step == in.batch * in.row) {
    spec.rows = in.steps * in.batch;
    spec.a_row = in.batch == 1 ? in.step : in.row;
  } else if (in.row == in.steps * in.step) {
    spec.rows = in.steps * in.batch;
    spec.a_row = in.step;
    out.row = in.steps * width;
    out.step = width;
  } else {
    spec.batches[1] = in.steps;
    spec.a_batch[1] = in.step;
    spec.c_batch[1] = out.step;
    spec.rows = in.batch;
    spec.a_row = in.row;
  }
  const double multiplications = static_cast<double>(in.steps * in.batch) * static_cast<double>(width * spec.depth);
  spec.parts = binding.parts(multiplications * kMultiplicationNanoseconds);
  std::vector<TensorView> reads;
  reads.reserve(3);
  reads.push_back(in.view);
  reads.push_back(packed_panels(binding, *weights.input, spec).view);
  if (weights.input_bias) {
    spec.has_bias = true;
    reads.push_back(binding.keep(kind.bias_by_step ? weights.input_bias->contiguous()
                                                   : sum_of(*weights.input_bias, *weights.hidden_bias)));
  }
  binding.run_with(kernels().matmul->packed, spec, std::move(reads), {out.view});
  return out;
}

// States of one layer and direction: [batch, hidden].
struct States {
  TensorView hidden_before;
  std::optional<TensorView> cell_before, last_hidden, last_cell;
};

void run_steps(Binding& binding, const Kind& kind, const Weights& weights, const Sequence& projected,
               const States& states, const Sequence& out, bool backward) {
  RecurrentSpec spec;
  spec.steps = out.steps;
  spec.batch = out.batch;
  spec.hidden = out.width;
  spec.backward = backward;
  spec.projected_step = projected.step;
  spec.projected_row = projected.row;
  spec.hidden_before_row = states.hidden_before.meta.strides[0];
  spec.out_step = out.step;
  spec.out_row = out.row;
  spec.parts = parts_of_steps(binding, kind, out);
  std::vector<TensorView> reads, writes;
  reads.reserve(5);
  writes.reserve(4);
  reads.push_back(projected.view);
  reads.push_back(packed_panels(binding, *weights.hidden, product_with(*weights.hidden)).view);
  reads.push_back(states.hidden_before);
  if (kind.has_cell) {
    spec.cell_before_row = states.cell_before->meta.strides[0];
    reads.push_back(*states.cell_before);
  }
  if (kind.bias_by_step && weights.hidden_bias) {
    spec.has_bias = true;
    reads.push_back(binding.keep(weights.hidden_bias->contiguous()));
  }
  writes.push_back(out.view);
  writes.push_back(binding.scratch(at::kFloat, {out.batch, kind.gates * out.width}));
  if (kind.has_cell) writes.push_back(*states.last_cell);
  if (states.last_hidden) {
    spec.writes_last_hidden = true;
    writes.push_back(*states.last_hidden);
  }
  binding.run_with(kernels().recurrent->*kind.kernel, spec, std::move(reads), std::move(writes));
}

// A call of a network: its states [layers x directions, batch, hidden] and how it is made.
struct Network {
  const Kind& kind;
  TensorView input;
  std::vector<TensorView> states;  // hidden, and LSTM's cell state
  std::vector<TensorView> parameters;
  bool has_biases, batch_first;
  int64_t layers, directions;

  int64_t hidden() const { return states[0].meta.sizes[2]; }
  int64_t parameters_each() const { return has_biases ? 4 : 2; }
};

// Arguments: input, states, parameters, has_biases, layers, dropout, train, bidirectional, batch_first.
std::optional<Network> network_of(Binding& binding, const Kind& kind) {
  const TensorView *input = binding.tensor(0), *state = binding.tensor(1);
  auto states = kind.has_cell ? binding.tensor_list(1)
                : state       ? std::optional(std::vector<TensorView>{*state})
                              : std::nullopt;
  auto parameters = binding.tensor_list(2);
  const auto has_biases = known_bool(binding.known(3)), train = known_bool(binding.known(6)),
             bidirectional = known_bool(binding.known(7)), batch_first = known_bool(binding.known(8));
  const c10::IValue* layers = binding.known(4);
  if (!input || !states || !parameters || !has_biases || !layers || !layers->isInt() || !train || !bidirectional ||
      !batch_first) {
    return std::nullopt;
  }
  if (*train || !is_float(*input, 3)) return std::nullopt;
  return Network{kind,        *input,       std::move(*states), std::move(*parameters),
                 *has_biases, *batch_first, layers->toInt(),    *bidirectional ? 2 : 1};
}

bool has_fitting_states(const Network& network, int64_t batch) {
  if (network.states.size() != (network.kind.has_cell ? 2 : 1)) return false;
  for (const TensorView& state : network.states) {
    if (!is_float(state, 3) || !has_contiguous_rows(state)) return false;
    if (!has_sizes(state, {network.layers * network.directions, batch, network.hidden()})) return false;
  }
  return true;
}

// One per layer and direction. LSTM's projections have more parameters, and are not for us.
std::optional<std::vector<Weights>> all_weights(const Binding& binding, const Network& network) {
  const int64_t count = network.layers * network.directions, each = network.parameters_each();
  if (static_cast<int64_t>(network.parameters.size()) != count * each) return std::nullopt;
  std::vector<Weights> all;
  for (int64_t i = 0; i < count; ++i) {
    const bool is_first = i < network.directions;
    const int64_t inputs = is_first ? network.input.meta.sizes[2] : network.directions * network.hidden();
    const auto weights =
        weights_of(binding, &network.parameters[i * each], network.has_biases, network.kind, inputs, network.hidden());
    if (!weights) return std::nullopt;
    all.push_back(*weights);
  }
  return all;
}

// LibTorch computes with time first: the result is [steps, batch, width] in memory, `batch_first` is a view of it.
TensorView output_of(Binding& binding, const Network& network, const Sequence& in) {
  const int64_t width = network.directions * network.hidden();
  if (!network.batch_first) return binding.result(0, at::kFloat, {in.steps, in.batch, width});
  return binding.result(0, at::kFloat, {in.batch, in.steps, width}, {width, in.batch * width, 1});
}

bool bind_network(Binding& binding, const Kind& kind) {
  const auto network = network_of(binding, kind);
  if (!network || network->layers < 1) return false;
  Sequence in = sequence(network->input, network->batch_first);
  if (!has_fitting_states(*network, in.batch) || !is_small(kind, in.batch, network->hidden())) return false;
  const auto weights = all_weights(binding, *network);
  if (!weights) return false;
  const int64_t hidden = network->hidden(), directions = network->directions;
  const Sequence result = sequence(output_of(binding, *network, in), network->batch_first);
  std::vector<TensorView> last;
  for (size_t i = 0; i < network->states.size(); ++i)
    last.push_back(binding.result(i + 1, at::kFloat, network->states[i].meta.sizes));
  for (int64_t layer = 0; layer < network->layers; ++layer) {
    const bool is_last = layer == network->layers - 1;
    const Sequence out =
        is_last ? result : sequence(binding.scratch(at::kFloat, {in.steps, in.batch, directions * hidden}), false);
    for (int64_t direction = 0; direction < directions; ++direction) {
      const int64_t index = layer * directions + direction;
      States states{select_first(network->states[0], index), {}, select_first(last[0], index), {}};
      if (kind.has_cell) {
        states.cell_before = select_first(network->states[1], index);
        states.last_cell = select_first(last[1], index);
      }
      Sequence half = out;
      half.view = select(out.view, 2, direction * hidden, hidden);
      half.width = hidden;
      run_steps(binding, kind, (*weights)[index], project(binding, kind, (*weights)[index], in), states, half,
                direction == 1);
    }
    in = out;
  }
  return true;
}

// Arguments: input, states, Wih, Whh, and biases or None.
bool bind_cell(Binding& binding, const Kind& kind) {
  const TensorView *input = binding.tensor(0), *state = binding.tensor(1);
  const auto states = kind.has_cell ? binding.tensor_list(1)
                      : state       ? std::optional(std::vector<TensorView>{*state})
                                    : std::nullopt;
  if (!input || !states || states->size() != (kind.has_cell ? 2 : 1) || !is_float(*input, 2)) return false;
  const int64_t batch = input->meta.sizes[0];
  for (const TensorView& before : *states) {
    if (!is_float(before, 2) || !has_contiguous_rows(before)) return false;
    if (!has_sizes(before, {batch, (*states)[0].meta.sizes[1]})) return false;
  }
  const int64_t hidden = (*states)[0].meta.sizes[1];
  if (!is_small(kind, batch, hidden)) return false;
  std::vector<TensorView> parameters;
  for (size_t i = 2; i < 6; ++i) {
    if (const TensorView* parameter = binding.tensor(i)) {
      parameters.push_back(*parameter);
    } else if (i < 4 || !binding.known(i) || !binding.known(i)->isNone()) {
      return false;
    }
  }
  if (parameters.size() == 3) return false;
  const auto weights =
      weights_of(binding, parameters.data(), parameters.size() == 4, kind, input->meta.sizes[1], hidden);
  if (!weights) return false;
  const Sequence out = single_step(binding.result(0, at::kFloat, {batch, hidden}));
  States now{(*states)[0], {}, {}, {}};
  if (kind.has_cell) {
    now.cell_before = (*states)[1];
    now.last_cell = binding.result(1, at::kFloat, {batch, hidden});
  }
  run_steps(binding, kind, *weights, project(binding, kind, *weights, single_step(*input)), now, out, false);
  return true;
}

const BinderRegistration kRecurrent[] = {
    {"aten::lstm.input", [](Binding& binding) { return bind_network(binding, kLstm); }},
    {"aten::gru.input", [](Binding& binding) { return bind_network(binding, kGru); }},
    {"aten::rnn_tanh.input", [](Binding& binding) { return bind_network(binding, kTanh); }},
    {"aten::rnn_relu.input", [](Binding& binding) { return bind_network(binding, kRelu); }},
    {"aten::lstm_cell", [](Binding& binding) { return bind_cell(binding, kLstm); }},
    {"aten::gru_cell", [](Binding& binding) { return bind_cell(binding, kGru); }},
    {"aten::rnn_tanh_cell", [](Binding& binding) { return bind_cell(binding, kTanh); }},
    {"aten::rnn_relu_cell", [](Binding& binding) { return bind_cell(binding, kRelu); }},
};

}  // namespace
}  // namespace stator
