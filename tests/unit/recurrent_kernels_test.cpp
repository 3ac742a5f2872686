// Recurrent networks against ATen's: the binders with the process's kernels, and the kernels of each table that this CPU can run.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "binding_probe.h"
#include "graph/graph.h"
#include "ops/threads.h"
#include "usable_tables.h"

namespace stator {
namespace {

using Arguments = std::vector<c10::IValue>;

struct NetworkCase {
  std::string name;  // "lstm"
  int64_t gates, steps, batch, inputs, hidden;
  int64_t layers = 1;
  bool has_biases = true, bidirectional = false, batch_first = false;
};

// About as large as LibTorch makes them: with larger ones a state, and what rounding does to it, could grow from step to step.
at::Tensor weight(at::IntArrayRef sizes) {
  return at::randn(sizes) * (0.5 / std::sqrt(static_cast<double>(sizes.back())));
}

c10::List<at::Tensor> parameters(const NetworkCase& c, bool cell = false) {
  const int64_t directions = c.bidirectional ? 2 : 1, gates = c.gates * c.hidden;
  c10::List<at::Tensor> list;
  for (int64_t i = 0; i < (cell ? 1 : c.layers * directions); ++i) {
    list.push_back(weight({gates, i < directions ? c.inputs : directions * c.hidden}));
    list.push_back(weight({gates, c.hidden}));
    if (c.has_biases) {
      list.push_back(at::randn({gates}));
      list.push_back(at::randn({gates}));
    }
  }
  return list;
}

c10::IValue states(const NetworkCase& c, at::IntArrayRef sizes) {
  if (c.name != "lstm") return at::randn(sizes);
  return c10::List<at::Tensor>({at::randn(sizes), at::randn(sizes)});
}

Arguments network(const NetworkCase& c) {
  const at::Tensor input =
      c.batch_first ? at::randn({c.batch, c.steps, c.inputs}) : at::randn({c.steps, c.batch, c.inputs});
  const int64_t layers = c.layers * (c.bidirectional ? 2 : 1);
  return {input,         states(c, {layers, c.batch, c.hidden}),
          parameters(c), c.has_biases,
          c.layers,      0.0,
          false,         c.bidirectional,
          c.batch_first};
}

Arguments cell(const NetworkCase& c) {
  Arguments arguments{at::randn({c.batch, c.inputs}), states(c, {c.batch, c.hidden})};
  for (const at::Tensor& parameter : parameters(c, true).vec()) arguments.emplace_back(parameter);
  arguments.resize(6);
  return arguments;
}

void expect_libtorchs(const std::string& key, const Arguments& arguments) {
  c10::InferenceMode inference;
  const std::string what = key + c10::str(arguments[0].toTensor().sizes());
  BindingProbe probe(key, arguments, {2, 3, 4, 5});
  ASSERT_TRUE(probe.bind()) << what;
  torch::jit::Stack expected = arguments;
  find_operator(key)->boxed(expected);
  for (size_t i = 0; i < expected.size(); ++i) {
    const at::Tensor &one = expected[i].toTensor(), &other = probe.result(i);
    ASSERT_EQ(one.sizes(), other.sizes()) << what;
    ASSERT_EQ(one.strides(), other.strides()) << what;
    ASSERT_TRUE(at::allclose(other, one, 1.3e-6, 1e-5, true))
        << what << " result " << i << ": " << (one - other).abs().max().item<float>();
  }
}

const std::pair<std::string, int64_t> kKinds[] = {{"lstm", 4}, {"gru", 3}, {"rnn_tanh", 1}, {"rnn_relu", 1}};

TEST(RecurrentBinders, networks_are_libtorchs) {
  for (const auto& [name, gates] : kKinds) {
    for (int64_t steps : {1, 2, 7}) {
      for (int64_t batch : {1, 2, 9}) {
        for (int64_t hidden : {1, 5, 8, 16, 37}) {
          expect_libtorchs("aten::" + name + ".input", network({name, gates, steps, batch, 11, hidden}));
          expect_libtorchs("aten::" + name + ".input",
                           network({name, gates, steps, batch, 1, hidden, 3, false, true, true}));
          if (HasFatalFailure()) return;
        }
      }
    }
    for (bool bidirectional : {false, true}) {
      for (bool batch_first : {false, true}) {
        expect_libtorchs("aten::" + name + ".input",
                         network({name, gates, 6, 3, 20, 24, 2, true, bidirectional, batch_first}));
      }
    }
    expect_libtorchs("aten::" + name + ".input", network({name, gates, 160, 1, 40, 256, 3, true, false, true}));
    expect_libtorchs("aten::" + name + ".input", network({name, gates, 40, 2, 500, 400}));
  }
}

TEST(RecurrentBinders, results_do_not_depend_on_parts) {
  c10::InferenceMode inference;
  for (const auto& [name, gates] : kKinds) {
    for (int64_t hidden : {1, 8, 37, 256}) {
      for (int64_t batch : {1, 3}) {
        const std::string key = "aten::" + name + ".input";
        const Arguments arguments = network({name, gates, 6, batch, 11, hidden, 2, true, true});
        BindingProbe alone(key, arguments, {2}), shared(key, arguments, {2}, 3);
        ASSERT_TRUE(alone.bind());
        IntraOpThreads two(2);
        ASSERT_TRUE(shared.bind());
        for (size_t i = 0; i < (name == "lstm" ? 3 : 2); ++i)
          ASSERT_TRUE(at::equal(alone.result(i), shared.result(i))) << key << " " << hidden << " result " << i;
      }
    }
  }
}

TEST(RecurrentBinders, cells_are_libtorchs) {
  for (const auto& [name, gates] : kKinds) {
    for (int64_t batch : {1, 2, 9}) {
      for (int64_t hidden : {1, 5, 8, 16, 37, 128}) {
        for (bool has_biases : {false, true}) {
          expect_libtorchs("aten::" + name + "_cell", cell({name, gates, 1, batch, 11, hidden, 1, has_biases}));
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(RecurrentBinders, layouts_of_inputs_and_weights_do_not_matter) {
  for (const auto& [name, gates] : kKinds) {
    Arguments arguments = network({name, gates, 5, 3, 10, 12});
    c10::List<at::Tensor> parameters = arguments[2].toTensorList();
    for (int64_t i : {0, 1}) parameters[i] = parameters.get(i).t().contiguous().t();
    for (const at::Tensor& input : {at::randn({3, 5, 10}).transpose(0, 1), at::randn({10, 3, 5}).permute({2, 1, 0}),
                                    at::randn({1, 3, 10}).expand({5, 3, 10}), at::randn({5, 1, 10}).expand({5, 3, 10}),
                                    at::randn({9, 6, 10}).slice(0, 0, 9, 2).slice(1, 0, 6, 2)}) {
      arguments[0] = input;
      expect_libtorchs("aten::" + name + ".input", arguments);
    }
  }
}

TEST(RecurrentBinders, what_is_no_number_is_libtorchs) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  for (const auto& [name, gates] : kKinds) {
    Arguments arguments = network({name, gates, 4, 9, 10, 12});
    at::Tensor input = arguments[0].toTensor();
    input[1][0][0] = nan;
    // In the last step, and no sums of large numbers: what rounding leaves of them is not the operator's.
    input[3][1][2] = 1e4;
    input[3][2][2] = -1e4;
    input[3][3][3] = inf;
    input[0][4].fill_(1e-30);
    expect_libtorchs("aten::" + name + ".input", arguments);
  }
}

TEST(RecurrentBinders, leave_the_rest_to_libtorch) {
  const auto binds = [](const Arguments& arguments, const std::set<size_t>& constants = {2}) {
    return BindingProbe("aten::lstm.input", arguments, constants).bind();
  };
  const Arguments plain = network({"lstm", 4, 4, 2, 10, 12});
  EXPECT_TRUE(binds(plain));
  EXPECT_FALSE(binds(plain, {}));
  const auto with = [&](size_t i, c10::IValue value) {
    Arguments arguments = plain;
    arguments[i] = std::move(value);
    return arguments;
  };
  EXPECT_FALSE(binds(with(0, at::randn({4, 10}))));
  EXPECT_FALSE(binds(with(0, at::randn({4, 3, 10}))));
  EXPECT_FALSE(binds(with(0, at::randn({0, 2, 10}))));
  EXPECT_FALSE(binds(with(0, at::randn({4, 2, 10}, at::kDouble))));
  EXPECT_FALSE(binds(with(1, c10::List<at::Tensor>({at::randn({1, 2, 12})}))));
  EXPECT_FALSE(binds(with(3, false)));
  EXPECT_FALSE(binds(with(4, 2)));
  EXPECT_FALSE(binds(with(6, true)));
  EXPECT_FALSE(binds(with(7, true)));
}

class RecurrentKernel : public testing::TestWithParam<const KernelTable*> {
 protected:
  at::Tensor panels_of(const at::Tensor& weight) const {
    MatmulSpec spec;
    spec.columns = weight.size(0);
    spec.depth = spec.b_column = weight.size(1);
    spec.b_step = 1;
    at::Tensor panels = at::empty({panel_floats(spec.columns, spec.depth, GetParam()->matmul->panel)});
    void* addresses[] = {weight.data_ptr(), panels.data_ptr()};
    GetParam()->matmul->pack(&spec, addresses);
    return panels;
  }
};

// One step in float64, of gates' sums for the projected part and the recurrent one.
std::pair<at::Tensor, at::Tensor> step_in_float64(const std::string& name, const at::Tensor& projected,
                                                  const at::Tensor& recurrent, const at::Tensor& hidden,
                                                  const at::Tensor& cell) {
  const auto p = projected.chunk(name == "lstm" ? 4 : name == "gru" ? 3 : 1, 1), r = recurrent.chunk(p.size(), 1);
  if (name == "lstm") {
    const at::Tensor now = at::sigmoid(p[1] + r[1]) * cell + at::sigmoid(p[0] + r[0]) * at::tanh(p[2] + r[2]);
    return {at::sigmoid(p[3] + r[3]) * at::tanh(now), now};
  }
  if (name == "gru") {
    const at::Tensor fresh = at::tanh(p[2] + at::sigmoid(p[0] + r[0]) * r[2]), update = at::sigmoid(p[1] + r[1]);
    return {fresh + update * (hidden - fresh), cell};
  }
  return {name == "rnn_tanh" ? at::tanh(p[0] + r[0]) : at::relu(p[0] + r[0]), cell};
}

TEST_P(RecurrentKernel, is_what_float64_gives) {
  const RecurrentKernels& table = *GetParam()->recurrent;
  for (const auto& [name, gates] : kKinds) {
    for (int64_t hidden : {1, 7, 16, 29, 64}) {
      const int64_t steps = 5, batch = 3;
      const bool lstm = name == "lstm", gru = name == "gru";
      const at::Tensor projected = at::randn({steps, batch, gates * hidden}), w = weight({gates * hidden, hidden}),
                       panels = panels_of(w), before = at::randn({batch, hidden}), cell = at::randn({batch, hidden}),
                       bias = at::randn({gates * hidden});
      at::Tensor out = at::empty({steps, batch, hidden}), scratch = at::full({batch, gates * hidden}, std::nanf("")),
                 last = at::empty({batch, hidden}), last_cell = at::empty({batch, hidden});
      RecurrentSpec spec{};
      spec.steps = steps;
      spec.batch = batch;
      spec.hidden = hidden;
      spec.backward = true;
      spec.projected_step = batch * gates * hidden;
      spec.projected_row = gates * hidden;
      spec.hidden_before_row = spec.cell_before_row = spec.out_row = hidden;
      spec.out_step = batch * hidden;
      spec.has_bias = gru;
      spec.writes_last_hidden = true;
      std::vector<void*> addresses;
      for (const at::Tensor& tensor : {projected, panels, before}) addresses.push_back(tensor.data_ptr());
      if (lstm) addresses.push_back(cell.data_ptr());
      if (gru) addresses.push_back(bias.data_ptr());
      for (const at::Tensor& tensor : {out, scratch}) addresses.push_back(tensor.data_ptr());
      if (lstm) addresses.push_back(last_cell.data_ptr());
      addresses.push_back(last.data_ptr());
      const BoundKernel kernel = lstm ? table.lstm : gru ? table.gru : name == "rnn_tanh" ? table.tanh : table.relu;
      ASSERT_TRUE(kernel(&spec, addresses.data()));
      at::Tensor h = before.to(at::kDouble), c = cell.to(at::kDouble);
      for (int64_t t = steps; t-- > 0;) {
        at::Tensor recurrent = at::matmul(h, w.to(at::kDouble).t());
        if (gru) recurrent = recurrent + bias;
        std::tie(h, c) = step_in_float64(name, projected[t].to(at::kDouble), recurrent, h, c);
        ASSERT_TRUE(at::allclose(out[t].to(at::kDouble), h, 1.3e-6, 1e-6)) << name << hidden;
      }
      EXPECT_TRUE(at::equal(last, out[0])) << name;
      EXPECT_TRUE(!lstm || at::allclose(last_cell.to(at::kDouble), c, 1.3e-6, 1e-6)) << hidden;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Capabilities, RecurrentKernel, testing::ValuesIn(usable_tables()),
                         [](const auto& info) { return std::string(info.param->capability); });

}  // namespace
}  // namespace stator
