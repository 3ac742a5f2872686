// Writes the models that all tests share: make_models OUTDIR
//
// Each is TorchScript source with weights from a formula, so that every machine and every language sees the same numbers.
// What they are for: tests/conformance/README.md.

#include <torch/library.h>
#include <torch/script.h>

#include <torch/csrc/jit/frontend/ir_emitter.h>
#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/frontend/sugared_value.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Operators of tests/operators and tests/capi/operators.c: to write a model that calls one, its schema is enough.
TORCH_LIBRARY(stator_library, m) { m.def("outer(Tensor x, Tensor y, int power=1) -> Tensor"); }
TORCH_LIBRARY(stator_test, m) {
  m.def("swish(Tensor x, float beta=1.0) -> Tensor");
  m.def("pick(Tensor[] xs, Tensor? bias, int k, bool negate, str name) -> (Tensor, Tensor)");
}

namespace {

namespace jit = torch::jit;

// `raise ValueError(...)` as Python's front end compiles it: the class's name goes into the program.
class RaisedClass final : public jit::ExceptionValue {
 public:
  explicit RaisedClass(const std::string& name) : ExceptionValue(name), name_(name) {}

  std::shared_ptr<jit::SugaredValue> call(const jit::SourceRange& location, jit::GraphFunction& method,
                                          at::ArrayRef<jit::NamedValue> args,
                                          at::ArrayRef<jit::NamedValue> /*attributes*/, size_t /*binders*/) override {
    jit::Graph& graph = *method.graph();
    jit::Value* message = args.empty() ? jit::insertConstant(graph, "", location) : args.at(0).value(graph);
    return std::make_shared<jit::ExceptionMessageValue>(message,
                                                        jit::insertConstant(graph, "builtins." + name_, location));
  }

 private:
  std::string name_;
};

// The names that the sources below use besides the language's own.
class Names final : public jit::Resolver {
 public:
  Names()
      : point_(c10::TupleType::createNamed(c10::QualifiedName("__torch__.Point"), std::vector<std::string>{"x", "y"},
                                           std::vector<c10::TypePtr>{c10::TensorType::get(), c10::TensorType::get()})) {
  }

  std::shared_ptr<jit::SugaredValue> resolveValue(const std::string& name, jit::GraphFunction& method,
                                                  const jit::SourceRange& location) override {
    if (name == "ValueError" || name == "RuntimeError") return std::make_shared<RaisedClass>(name);
    if (name == "Point") return std::make_shared<jit::NamedTupleConstructor>(point_);
    if (auto type = classes_.find(name); type != classes_.end()) return std::make_shared<jit::ClassValue>(type->second);
    if (name == "fork") return jit::SpecialFormValue::create(c10::prim::fork);
    if (name == "stator_library" || name == "stator_test") return std::make_shared<jit::BuiltinModule>(name);
    return jit::nativeResolver()->resolveValue(name, method, location);
  }

  c10::TypePtr resolveType(const std::string& name, const jit::SourceRange& location) override {
    if (name == "Point") return point_;
    if (auto type = classes_.find(name); type != classes_.end()) return type->second;
    return jit::nativeResolver()->resolveType(name, location);
  }

  void add(const std::string& name, c10::ClassTypePtr type) { classes_[name] = std::move(type); }

 private:
  c10::TupleTypePtr point_;
  std::map<std::string, c10::ClassTypePtr> classes_;
};

// Numbers in [-scale, scale) that look random and are the same everywhere.
at::Tensor formula(std::vector<int64_t> shape, int64_t seed, double scale) {
  at::Tensor result = at::empty(shape, at::kFloat);
  float* data = result.mutable_data_ptr<float>();
  for (int64_t i = 0; i < result.numel(); ++i) {
    const auto noise = static_cast<double>((i * 7919 + seed * 104729) % 1009);
    data[i] = static_cast<float>(scale * (2.0 * noise / 1009.0 - 1.0));
  }
  return result;
}

class Model {
 public:
  explicit Model(const std::string& name) : module_("__torch__." + name) {
    module_.register_attribute("training", c10::BoolType::get(),
                               true);  // as a file saved in training mode; Stator runs it in eval mode
  }
  Model& parameter(const std::string& name, at::Tensor value) {
    module_.register_parameter(name, std::move(value), false);
    return *this;
  }
  Model& buffer(const std::string& name, at::Tensor value) {
    module_.register_buffer(name, std::move(value));
    return *this;
  }
  Model& attribute(const std::string& name, const c10::TypePtr& type, c10::IValue value) {
    module_.register_attribute(name, type, std::move(value));
    return *this;
  }
  // A class that the model's methods may use.
  Model& object(const std::string& name, const std::vector<std::pair<std::string, c10::TypePtr>>& attributes,
                const std::string& methods) {
    const auto unit = module_._ivalue()->compilation_unit();
    const auto type = c10::ClassType::create(c10::QualifiedName("__torch__." + name), unit);
    for (const auto& [attribute, kind] : attributes) type->addAttribute(attribute, kind);
    unit->register_type(type);
    names_->add(name, type);
    const jit::SimpleSelf self(type);
    unit->define(type->name(), methods, names_, &self);
    return *this;
  }
  void save(const std::filesystem::path& path, const std::string& source) {
    module_.define(source, names_);
    module_.save(path.string());
    std::cout << path.filename().string() << '\n';
  }

 private:
  jit::Module module_;
  std::shared_ptr<Names> names_ = std::make_shared<Names>();
};

void save_plain_models(const std::filesystem::path& folder) {
  Model("AddMul").save(folder / "add_mul.pt", R"(
def forward(self, x: Tensor, y: Tensor) -> Tensor:
    return torch.sigmoid(x * y + x)
)");
  Model("TanhLoop").save(folder / "tanh_loop.pt", R"(
def forward(self, x: Tensor, y: Tensor) -> Tensor:
    for i in range(100):
        x = torch.tanh(x * y)
    return x
)");
  Model("Linear")
      .parameter("weight", formula({4, 8}, 1, 1.0))
      .parameter("bias", formula({4}, 2, 1.0))
      .save(folder / "linear.pt", R"(
def forward(self, x: Tensor) -> Tensor:
    return torch.linear(x, self.weight, self.bias)
)");
  Model("Mlp")
      .parameter("w1", formula({256, 128}, 3, 0.15))
      .parameter("b1", formula({256}, 4, 0.1))
      .parameter("w2", formula({256, 256}, 5, 0.1))
      .parameter("b2", formula({256}, 6, 0.1))
      .parameter("w3", formula({10, 256}, 7, 0.1))
      .parameter("b3", formula({10}, 8, 0.1))
      .save(folder / "mlp.pt", R"(
def forward(self, x: Tensor) -> Tensor:
    x = torch.relu(torch.linear(x, self.w1, self.b1))
    x = torch.relu(torch.linear(x, self.w2, self.b2))
    return torch.softmax(torch.linear(x, self.w3, self.b3), -1)
)");
  Model("DeepAndWide")
      .parameter("mu", formula({1, 50}, 9, 1.0))
      .parameter("sigma", formula({1, 50}, 10, 1.0))
      .parameter("fc_w", formula({1, 51}, 11, 0.3))
      .parameter("fc_b", formula({1}, 12, 1.0))
      .save(folder / "deep_and_wide.pt", R"(
def forward(self, ad_emb: Tensor, user_emb: Tensor, wide: Tensor) -> Tensor:
    wide = torch.clamp((wide + self.mu) * self.sigma, 0.0, 10.0)
    user_emb_t = torch.transpose(user_emb, 1, 2)
    dot = torch.flatten(torch.bmm(ad_emb, user_emb_t), 1)
    return torch.sigmoid(torch.linear(torch.cat([dot, wide], 1), self.fc_w, self.fc_b))
)");
  Model("Slow").save(folder / "slow.pt", R"(
def forward(self, x: Tensor, n: int) -> Tensor:
    for i in range(n):
        x = torch.tanh(torch.mm(x, x))
    return x
)");
  Model("Training").save(folder / "training.pt", R"(
def forward(self, x: Tensor) -> Tensor:
    return torch.dropout(x, 0.5, self.training)
)");
}

void save_control_flow(const std::filesystem::path& folder) {
  Model("Branch").save(folder / "branch.pt", R"(
def forward(self, x: Tensor, flag: bool) -> Tensor:
    if flag:
        if float(x.sum()) > 0.0:
            y = x * 2
        else:
            y = x * 3
    else:
        y = x - 1
    return y
)");
  Model("Loops").save(folder / "loops.pt", R"(
def forward(self, x: Tensor, n: int) -> Tuple[Tensor, int]:
    if n < 0:
        return x * 0, -1
    total = torch.zeros_like(x)
    count = 0
    for i in range(n):
        total = total + x * i
        count += i
        if float(total.max()) > 100.0:
            break
    return total, count
)");
  Model("Raises").save(folder / "raises.pt", R"(
def forward(self, x: Tensor, n: int) -> Tensor:
    if n <= 0:
        raise ValueError("n must be positive, got {}".format(n))
    return x * n
)");
  Model("Prints").save(folder / "prints.pt", R"(
def forward(self, x: Tensor) -> Tensor:
    print("items:", x.size(0))
    return x * 2
)");
}

// `work` takes as long as `n` says, and raises where that is negative.
void save_forks(const std::filesystem::path& folder) {
  Model("Forks").attribute("calls", c10::IntType::get(), 0).save(folder / "forks.pt", R"(
def work(self, x: Tensor, n: int) -> Tensor:
    if n < 0:
        raise ValueError("n must not be negative, got {}".format(n))
    for i in range(n):
        x = torch.tanh(torch.mm(x, x))
    return x

def forward(self, x: Tensor, n: int) -> Tuple[Tensor, List[Tensor]]:
    futures = [fork(self.work, x, n), fork(self.work, x * 2, n), fork(self.work, x * 3, n)]
    results = [torch.wait(future) for future in futures]
    return results[0] + results[1] + results[2], results

def count(self, x: Tensor) -> int:
    future = fork(self.add_call)
    return torch.wait(future)

def add_call(self) -> int:
    self.calls += 1
    return self.calls
)");
}

void save_types(const std::filesystem::path& folder) {
  Model("Kinds").save(folder / "kinds.pt", R"(
def forward(self, t: Tensor, i: int, f: float, b: bool, s: str, o: Optional[Tensor]) -> Tuple[Tensor, int, float, bool, str, Optional[Tensor]]:
    if o is not None:
        o = o + t
    return t * f, i + 1, f * 2, not b, s + "!", o
)");
  Model("Defaults").save(folder / "defaults.pt", R"(
def forward(self, x: Tensor, scale: float = 2.0, shift: Optional[Tensor] = None) -> Tensor:
    y = x * scale
    if shift is not None:
        y = y + shift
    return y
)");
  Model("Containers").save(folder / "containers.pt", R"(
def forward(self, x: Tensor, y: Tensor) -> Tuple[Dict[str, Tensor], List[Tensor]]:
    named: Dict[str, Tensor] = {}
    named["sum"] = x + y
    named["product"] = x * y
    return named, [x - y, y - x, torch.neg(x)]
)");
  Model("Nested").save(folder / "nested.pt", R"(
def forward(self, tensors: List[Tensor], named: Dict[str, Tensor], pair: Tuple[Tensor, int]) -> Tensor:
    total = pair[0] * pair[1]
    for tensor in tensors:
        total = total + tensor
    for key in named.keys():
        total = total + named[key]
    return total
)");
  Model("Named").save(folder / "named.pt", R"(
def forward(self, a: Tensor, b: Tensor) -> Point:
    return Point(a + b, a - b)
)");
}

// What crosses the boundary, in and out: tests/conformance/make_cases.py, types().
void save_more_types(const std::filesystem::path& folder) {
  Model("Pass").save(folder / "pass.pt", R"(
def forward(self, x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    return x, x.clone(memory_format=0), x.unsqueeze(0)
def dense(self, x: Tensor) -> Tensor:
    return x.contiguous()
def channels_last(self, x: Tensor) -> Tensor:
    return x.contiguous(memory_format=2) * 2
)");
  Model("Complex").save(folder / "complex.pt", R"(
def forward(self, x: Tensor, z: complex) -> Tuple[Tensor, Tensor, Tensor, Tensor, complex]:
    return x * z, torch.conj(x), torch.real(x), torch.imag(x), z * 2
)");
  Model("Scalars").save(folder / "scalars.pt", R"(
def forward(self, i: int, f: float, b: bool, c: complex) -> Tuple[int, float, bool, complex]:
    return i, f, b, c
)");
  Model("Optionals").save(folder / "optionals.pt", R"(
def forward(self, i: Optional[int], f: Optional[float], s: Optional[str], l: Optional[List[Optional[Tensor]]], t: Optional[Tuple[int, bool]]) -> Tuple[Optional[int], Optional[float], Optional[str], Optional[List[Optional[Tensor]]], Optional[Tuple[int, bool]]]:
    return i, f, s, l, t
)");
  Model("Lists").save(folder / "lists.pt", R"(
def forward(self, i: List[int], f: List[float], b: List[bool], s: List[str], c: List[complex], t: List[Tensor], n: List[List[int]]) -> Tuple[List[int], List[float], List[bool], List[str], List[complex], List[Tensor], List[List[int]]]:
    i.append(len(f))
    f.append(0.5)
    b.append(True)
    s.append("end")
    t.append(torch.ones([2]))
    n.append(i)
    return i, f, b, s, c, t, n
)");
  Model("Dicts").save(folder / "dicts.pt", R"(
def forward(self, s: Dict[str, Tensor], i: Dict[int, str], f: Dict[float, List[int]], b: Dict[bool, Dict[str, int]]) -> Tuple[Dict[str, Tensor], Dict[int, str], Dict[float, List[int]], Dict[bool, Dict[str, int]]]:
    s["one"] = torch.ones([2])
    i[-1] = "last"
    f[0.25] = [1, 2]
    b[True] = {"n": len(i)}
    return s, i, f, b
)");
  Model("NestedTuples").save(folder / "nested_tuples.pt", R"(
def forward(self, t: Tuple[int, Tuple[str, List[Tuple[float, Tensor]]]]) -> Tuple[Tuple[str, int], List[Tuple[Tensor, float]]]:
    pairs: List[Tuple[Tensor, float]] = []
    for f, x in t[1][1]:
        pairs.append((x * f, f))
    return (t[1][0], t[0]), pairs
)");
  Model("Objects")
      .object("Tally", {{"total", c10::TensorType::get()}, {"count", c10::IntType::get()}}, R"(
def __init__(self, total: Tensor, count: int) -> None:
    self.total = total
    self.count = count
def add(self, x: Tensor) -> Tally:
    return Tally(self.total + x, self.count + 1)
)")
      .save(folder / "objects.pt", R"(
def forward(self, x: Tensor) -> Tally:
    return Tally(x * 2, 1)
def add(self, tally: Tally, x: Tensor) -> Tally:
    return tally.add(x)
def read(self, tally: Tally) -> Tuple[Tensor, int, List[Tally]]:
    return tally.total * 1, tally.count, [tally, Tally(tally.total, 0)]
)");
  Model("ManyDefaults").save(folder / "many_defaults.pt", R"(
def forward(self, x: Tensor, n: int = 3, f: float = 0.5, s: str = "text", flag: bool = True, o: Optional[Tensor] = None) -> Tuple[Tensor, int, float, str, bool, Optional[Tensor]]:
    return x * f, n, f, s, flag, o
)");
  Model("AnyOf").save(folder / "any_of.pt", R"(
def forward(self, x: Union[int, str, List[float]]) -> str:
    if isinstance(x, int):
        return "int"
    if isinstance(x, str):
        return "str"
    return "list"
)");
  Model("Casts").save(folder / "casts.pt", R"(
def forward(self, x: Tensor, dtype: int) -> Tuple[Tensor, int, int]:
    return x.to(dtype), x.dtype, x.layout
def place(self, x: Tensor, device: Device) -> Tuple[Tensor, Device]:
    return x.to(device) + 1, x.device
)");
  Model("Quantized").save(folder / "quantized.pt", R"(
def forward(self, x: Tensor) -> Tensor:
    q = torch.quantize_per_tensor(x, 0.125, 10, 13)
    return torch.dequantize(q.reshape([-1])) * 2
def leak(self, x: Tensor) -> Tensor:
    return torch.quantize_per_tensor(x, 0.125, 10, 13)
)");
  Model("Sparse").save(folder / "sparse.pt", R"(
def forward(self, x: Tensor) -> Tensor:
    s = x.to_sparse()
    return (s + s).to_dense() * 2
def leak(self, x: Tensor) -> List[Tensor]:
    return [x, x.to_sparse()]
)");
}

// Models that call operators which LibTorch does not bring.
void save_operators(const std::filesystem::path& folder) {
  Model("OperatorsLibrary").save(folder / "operators_library.pt", R"(
def forward(self, x: Tensor, y: Tensor) -> Tensor:
    return stator_library.outer(x * 2, y, 2).reshape([-1])
)");
  Model("Operators").save(folder / "operators.pt", R"(
def forward(self, x: Tensor) -> Tensor:
    return stator_test.swish(x * 2, 0.5) + stator_test.swish(x)
def pick(self, x: Tensor, y: Tensor, bias: Optional[Tensor], k: int) -> Tuple[Tensor, Tensor]:
    return stator_test.pick([x, y], bias, k, True, "name")
)");
}

void save_state_and_aliases(const std::filesystem::path& folder) {
  Model("Counter")
      .attribute("n", c10::IntType::get(), 0)
      .buffer("total", at::zeros({3}))
      .save(folder / "counter.pt", R"(
def forward(self, x: Tensor) -> Tuple[Tensor, int]:
    self.n += 1
    self.total.add_(x)
    return self.total * 1, self.n
def reset(self):
    self.n = 0
    self.total.zero_()
)");
  Model("TwoMethods").buffer("scale", formula({3}, 13, 2.0)).save(folder / "two_methods.pt", R"(
def forward(self, x: Tensor) -> Tensor:
    return x * self.scale
def score(self, x: Tensor, y: Tensor) -> Tensor:
    return (x * y).sum(-1)
)");
  Model("Writes").save(folder / "writes.pt", R"(
def forward(self, x: Tensor) -> Tensor:
    x.add_(1)
    return x.sum()
)");
  Model("Alias").buffer("constant", formula({2, 2}, 14, 1.0)).save(folder / "alias.pt", R"(
def forward(self, x: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    y = x + 1
    return x, x.view(-1), self.constant, y, y
)");
}

// The silent wrong results of upstream's Static Runtime: research/static_runtime_upstream.md, 4.2.
void save_defects(const std::filesystem::path& folder) {
  Model("DefectAView").save(folder / "defect_a_view.pt", R"(
def forward(self, x: Tensor, y: Tensor, c: bool) -> Tensor:
    a = x * y
    b = y * y
    if c:
        z = a.view(-1)
    else:
        z = b.view(-1)
    d = x - y
    e = d * d
    g = e * d
    h = g * e
    return torch.neg(z * h)
)");
  Model("DefectANested").save(folder / "defect_a_nested.pt", R"(
def forward(self, x: Tensor, y: Tensor, c: bool) -> Tensor:
    a = x * y
    b = y * y
    if c:
        if float(x.sum()) > 0.0:
            z = a.view(-1)
        else:
            z = a[0:]
    else:
        z = b.view(-1)
    d = x - y
    e = d * d
    g = e * d
    h = g * e
    return torch.neg(z * h)
)");
  Model("DefectALoop").save(folder / "defect_a_loop.pt", R"(
def forward(self, x: Tensor, y: Tensor, n: int) -> Tensor:
    a = x * y
    z = x
    for i in range(n):
        z = a.view(-1)
    d = x - y
    e = d * d
    g = e * d
    h = g * e
    return torch.neg(z * h)
)");
  Model("DefectBList").save(folder / "defect_b_list.pt", R"(
def forward(self, x: Tensor, y: Tensor) -> Tensor:
    a = x.clone(memory_format=0)
    b = x * y
    both = [a, b]
    return torch.neg(torch.hstack(both))
)");
  Model("DefectDMul").save(folder / "defect_d_mul.pt", R"(
def forward(self, x: Tensor, y: Tensor) -> Tensor:
    return torch.neg(torch.mul(x, y))
)");
  Model("DefectDCat").save(folder / "defect_d_cat.pt", R"(
def forward(self, x: Tensor, y: Tensor) -> Tensor:
    return torch.neg(torch.cat([x, y], 0))
)");
}

void write_file(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.exceptions(std::ios::failbit | std::ios::badbit);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  std::cout << path.filename().string() << '\n';
}

// A zip with one stored entry, hello.txt.
std::string zip_without_model() {
  const std::string name = "hello.txt";
  const std::string text = "hello\n";
  uint32_t crc = 0xffffffffU;
  for (const char c : text) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0xedb88320U : 0U);
  }
  std::string zip;
  const auto put = [&zip](uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) zip.push_back(static_cast<char>((value >> (8 * i)) & 0xff));
  };
  const auto put_entry = [&](std::initializer_list<uint16_t> head) {  // the fields that both headers share
    for (const uint16_t field : head) put(field, 2);
    put(0, 2), put(0, 2), put(0, 2), put(0x21, 2);  // flags, method, time, date
    put(~crc & 0xffffffffU, 4), put(text.size(), 4), put(text.size(), 4), put(name.size(), 2), put(0, 2);
  };
  put(0x04034b50, 4), put_entry({20});
  zip += name + text;
  const size_t directory = zip.size();
  put(0x02014b50, 4), put_entry({20, 20});
  put(0, 2), put(0, 2), put(0, 2), put(0, 4), put(0, 4);  // comment, disk, attributes, offset
  zip += name;
  const size_t directory_bytes = zip.size() - directory;
  put(0x06054b50, 4), put(0, 2), put(0, 2), put(1, 2), put(1, 2), put(directory_bytes, 4), put(directory, 4), put(0, 2);
  return zip;
}

void write_broken_files(const std::filesystem::path& folder) {
  std::ifstream file(folder / "add_mul.pt", std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  write_file(folder / "truncated.pt", std::string_view(whole).substr(0, whole.size() / 2));
  write_file(folder / "not_a_model.zip", zip_without_model());
  write_file(folder / "text.pt", "This is a text and no model.\n");
  write_file(folder / "empty.pt", "");
  const std::vector<char> saved =
      torch::jit::pickle_save(c10::ivalue::Tuple::create(formula({2, 3}, 15, 1.0), formula({4}, 16, 1.0)));
  write_file(folder / "saved_tensors.pt",
             std::string_view(saved.data(), saved.size()));  // what torch.save writes: values, no program
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: make_models OUTDIR\n";
    return 2;
  }
  try {
    const std::filesystem::path folder = argv[1];
    std::filesystem::create_directories(folder);
    save_plain_models(folder);
    save_control_flow(folder);
    save_forks(folder);
    save_types(folder);
    save_more_types(folder);
    save_operators(folder);
    save_state_and_aliases(folder);
    save_defects(folder);
    write_broken_files(folder);
  } catch (const std::exception& error) {
    std::cerr << "make_models: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
