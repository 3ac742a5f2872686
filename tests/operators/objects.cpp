// A library with classes, as users write them for LibTorch; Stator's tests load it by path.
#include <torch/custom_class.h>
#include <torch/library.h>

#include <ATen/ATen.h>

#include <string>
#include <tuple>
#include <vector>

namespace {

// What a tensor is multiplied with and what is then added, in turn.
struct Scaler : torch::CustomClassHolder {
  Scaler(at::Tensor weight, std::vector<double> offsets) : weight(std::move(weight)), offsets(std::move(offsets)) {}

  at::Tensor scale(const at::Tensor& x, double factor) const {
    at::Tensor out = x * weight * factor;
    for (double offset : offsets) out = out + offset;
    return out;
  }
  std::tuple<at::Tensor, at::Tensor> both(const at::Tensor& x) const { return {scale(x, 1), scale(x, -1)}; }

  at::Tensor weight;
  std::vector<double> offsets;
};

// Remembers what it was given.
struct Total : torch::CustomClassHolder {
  explicit Total(at::Tensor sum) : sum(std::move(sum)) {}
  void put(const at::Tensor& x) { sum = sum + x; }

  at::Tensor sum;
};

at::Tensor scale(const at::Tensor& x, const c10::intrusive_ptr<Scaler>& scaler) { return scaler->scale(x, 1); }

at::Tensor add_up(const c10::intrusive_ptr<Total>& total, const at::Tensor& x) {
  total->put(x);
  return total->sum.clone();
}

}  // namespace

TORCH_LIBRARY(stator_objects, m) {
  m.class_<Scaler>("Scaler")
      .def(torch::init<at::Tensor, std::vector<double>>())
      .def("scale", &Scaler::scale, "", {torch::arg("x"), torch::arg("factor") = 1.0})
      .def("both", &Scaler::both)
      .def("__obj_flatten__",
           [](const c10::intrusive_ptr<Scaler>& self) {
             return std::make_tuple(std::make_tuple(std::string("weight"), self->weight),
                                    std::make_tuple(std::string("offsets"), self->offsets));
           })
      .def_pickle([](const c10::intrusive_ptr<Scaler>& self) { return std::make_tuple(self->weight, self->offsets); },
                  [](std::tuple<at::Tensor, std::vector<double>> state) {
                    return c10::make_intrusive<Scaler>(std::get<0>(state), std::get<1>(state));
                  });
  m.class_<Total>("Total")
      .def(torch::init<at::Tensor>())
      .def("put", &Total::put)
      .def("sum", [](const c10::intrusive_ptr<Total>& self) { return self->sum.clone(); })
      .def("__obj_flatten__",
           [](const c10::intrusive_ptr<Total>& self) {
             return std::make_tuple(std::make_tuple(std::string("sum"), self->sum));
           })
      .def_pickle([](const c10::intrusive_ptr<Total>& self) { return self->sum; },
                  [](at::Tensor state) { return c10::make_intrusive<Total>(std::move(state)); });
  m.def("scale(Tensor x, __torch__.torch.classes.stator_objects.Scaler scaler) -> Tensor");
  m.def("add_up(__torch__.torch.classes.stator_objects.Total total, Tensor x) -> Tensor");
}

TORCH_LIBRARY_IMPL(stator_objects, CompositeExplicitAutograd, m) {
  m.impl("scale", scale);
  m.impl("add_up", add_up);
}
