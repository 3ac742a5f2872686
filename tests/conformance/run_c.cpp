// Runs the conformance table through the C ABI: run_c cases.json MODELS [text that a case's name must contain]
//
// The format of the table is in README.md beside this file. Only stator/stator.h is used: this is what a C program sees.

#include "stator/stator.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using Json = nlohmann::ordered_json;

template <auto Release>
struct Releaser {
  template <typename T>
  void operator()(T* handle) const {
    Release(handle);
  }
};
using Options = std::unique_ptr<stator_options, Releaser<stator_options_release>>;
using Module = std::unique_ptr<stator_module, Releaser<stator_module_release>>;
using Runtime = std::unique_ptr<stator_runtime, Releaser<stator_runtime_release>>;
using Arena = std::unique_ptr<stator_arena, Releaser<stator_arena_release>>;
using Value = std::unique_ptr<stator_value, Releaser<stator_value_release>>;

// A status, read and released.
struct Refusal {
  std::string code, message, argument, op, source;
};

struct Mismatch : std::runtime_error {
  using runtime_error::runtime_error;
};

void check(stator_status* status) {
  if (status == nullptr) return;
  const Refusal refusal{stator_status_name(stator_status_code(status)), stator_status_message(status),
                        stator_status_argument(status), stator_status_operator(status), stator_status_source(status)};
  stator_status_release(status);
  throw refusal;
}

// Calls a function whose last parameter is the handle that it makes.
template <typename Handle, typename Call>
Handle made(Call call) {
  typename Handle::pointer handle = nullptr;
  check(call(&handle));
  return Handle(handle);
}

struct Dtype {
  int32_t code;
  size_t bytes;       // of an element
  int32_t component;  // what an element consists of: itself, or two real numbers; 0 if the table has its bits
  size_t components = 1;
  size_t component_bytes() const { return bytes / components; }
};

Dtype dtype_of(const std::string& name) {
  static const std::map<std::string, Dtype> all = {
      {"bool", {STATOR_BOOL, 1, STATOR_BOOL}},
      {"int8", {STATOR_INT8, 1, STATOR_INT8}},
      {"int16", {STATOR_INT16, 2, STATOR_INT16}},
      {"int32", {STATOR_INT32, 4, STATOR_INT32}},
      {"int64", {STATOR_INT64, 8, STATOR_INT64}},
      {"uint8", {STATOR_UINT8, 1, STATOR_UINT8}},
      {"uint16", {STATOR_UINT16, 2, STATOR_UINT16}},
      {"uint32", {STATOR_UINT32, 4, STATOR_UINT32}},
      {"uint64", {STATOR_UINT64, 8, STATOR_UINT64}},
      {"float32", {STATOR_FLOAT32, 4, STATOR_FLOAT32}},
      {"float64", {STATOR_FLOAT64, 8, STATOR_FLOAT64}},
      {"bfloat16", {STATOR_BFLOAT16, 2, STATOR_BFLOAT16}},
      {"complex64", {STATOR_COMPLEX64, 8, STATOR_FLOAT32, 2}},
      {"complex128", {STATOR_COMPLEX128, 16, STATOR_FLOAT64, 2}},
      {"float16", {STATOR_FLOAT16, 2, 0}},
      {"complex32", {STATOR_COMPLEX32, 4, 0}},
      {"float8_e4m3fn", {STATOR_FLOAT8_E4M3FN, 1, 0}},
      {"float8_e4m3fnuz", {STATOR_FLOAT8_E4M3FNUZ, 1, 0}},
      {"float8_e5m2", {STATOR_FLOAT8_E5M2, 1, 0}},
      {"float8_e5m2fnuz", {STATOR_FLOAT8_E5M2FNUZ, 1, 0}},
      {"float8_e8m0fnu", {STATOR_FLOAT8_E8M0FNU, 1, 0}},
  };
  return all.at(name);
}

double number(const Json& json) {
  if (json.is_number()) return json.get<double>();
  const auto text = json.get<std::string>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  return text == "inf" ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
}

template <typename T>
void store_as(void* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

template <typename T>
T load_as(const void* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

void write_bits(void* at, size_t bytes, uint64_t bits) { std::memcpy(at, &bits, bytes); }  // little endian

uint64_t read_bits(const void* at, size_t bytes) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, bytes);
  return bits;
}

void write_component(void* at, int32_t dtype, size_t bytes, const Json& json) {
  switch (dtype) {
    case STATOR_FLOAT32:
      return store_as(at, static_cast<float>(number(json)));
    case STATOR_FLOAT64:
      return store_as(at, number(json));
    case STATOR_BFLOAT16: {
      const auto wide = static_cast<float>(number(json));
      return store_as(at, static_cast<uint16_t>(load_as<uint32_t>(&wide) >> 16U));
    }
    default:  // a whole number in two's complement, or its bits
      return write_bits(at, bytes,
                        json.is_number_unsigned() ? json.get<uint64_t>() : static_cast<uint64_t>(json.get<int64_t>()));
  }
}

// As double, which holds every number of the table exactly; -1 for what the table has as bits.
double read_component(const void* at, int32_t dtype) {
  switch (dtype) {
    case STATOR_FLOAT32:
      return load_as<float>(at);
    case STATOR_FLOAT64:
      return load_as<double>(at);
    case STATOR_BFLOAT16: {
      const uint32_t wide = static_cast<uint32_t>(load_as<uint16_t>(at)) << 16U;
      return load_as<float>(&wide);
    }
    case STATOR_INT64:
      return static_cast<double>(load_as<int64_t>(at));
    case STATOR_INT32:
      return load_as<int32_t>(at);
    case STATOR_INT16:
      return load_as<int16_t>(at);
    case STATOR_INT8:
      return load_as<int8_t>(at);
    case STATOR_UINT64:
      return static_cast<double>(load_as<uint64_t>(at));
    case STATOR_UINT32:
      return load_as<uint32_t>(at);
    case STATOR_UINT16:
      return load_as<uint16_t>(at);
    default:
      return load_as<uint8_t>(at);
  }
}

std::vector<int64_t> contiguous(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

// Calls visit(k, offset) for every element in row-major order; offset counts elements.
template <typename Visit>
void for_each_element(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides, Visit visit) {
  int64_t elements = 1;
  for (const int64_t size : shape) elements *= size;
  for (int64_t k = 0; k < elements; ++k) {
    int64_t offset = 0;
    int64_t rest = k;
    for (size_t i = shape.size(); i-- > 0;) {
      offset += rest % shape[i] * strides[i];
      rest /= shape[i];
    }
    visit(static_cast<size_t>(k), static_cast<size_t>(offset));
  }
}

// A tensor of the table in memory of ours, laid out as the table says.
struct Buffer {
  explicit Buffer(const Json& json)
      : dtype(dtype_of(json.at("dtype"))),
        shape(json.at("shape").get<std::vector<int64_t>>()),
        strides(contiguous(shape)) {
    if (json.contains("strides")) strides = json.at("strides").get<std::vector<int64_t>>();
    const Json& data = json.at(dtype.component == 0 ? "bits" : "data");
    size_t span = 0;
    for_each_element(shape, strides, [&](size_t, size_t offset) { span = std::max(span, offset + 1); });
    bytes.resize(span * dtype.bytes);
    for_each_element(shape, strides, [&](size_t k, size_t offset) {
      for (size_t part = 0; part < dtype.components; ++part) {
        write_component(&bytes[offset * dtype.bytes + part * dtype.component_bytes()], dtype.component,
                        dtype.component_bytes(), data.at(k * dtype.components + part));
      }
    });
  }
  int32_t ndim() const { return static_cast<int32_t>(shape.size()); }
  void* data() { return bytes.empty() ? nullptr : bytes.data(); }

  Dtype dtype;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  std::vector<std::byte> bytes;
};

// What earlier steps gave, if it was an object.
using Objects = std::vector<Value>;

Value make_value(const Json& json, const Objects& objects = {});

Value make_sequence(const Json& items, const Json* names, const Objects& objects = {}) {
  std::vector<Value> owned;
  std::vector<const stator_value*> borrowed;
  for (const Json& item : items) borrowed.push_back(owned.emplace_back(make_value(item, objects)).get());
  const auto count = static_cast<int64_t>(borrowed.size());
  if (names == nullptr)
    return made<Value>([&](stator_value** out) { return stator_value_create_list(borrowed.data(), count, out); });
  std::vector<const char*> fields;
  for (const Json& name : *names) fields.push_back(name.get_ref<const std::string&>().c_str());
  const char* const* given = fields.empty() ? nullptr : fields.data();
  return made<Value>([&](stator_value** out) { return stator_value_create_tuple(borrowed.data(), count, given, out); });
}

Value make_dict(const std::vector<std::pair<Json, Json>>& pairs) {
  std::vector<Value> owned;
  std::vector<const stator_value*> keys;
  std::vector<const stator_value*> items;
  for (const auto& [key, item] : pairs) {
    keys.push_back(owned.emplace_back(make_value(key)).get());
    items.push_back(owned.emplace_back(make_value(item)).get());
  }
  return made<Value>([&](stator_value** out) {
    return stator_value_create_dict(keys.data(), items.data(), static_cast<int64_t>(keys.size()), out);
  });
}

Value make_value(const Json& json, const Objects& objects) {
  static const Json no_names = Json::array();
  const std::string& kind = json.begin().key();
  const Json& given = json.begin().value();
  if (kind == "none") return made<Value>(stator_value_create_none);
  if (kind == "result") {
    stator_value* object = objects.at(given.get<size_t>()).get();
    stator_value_retain(object);
    return Value(object);
  }
  if (kind == "bool")
    return made<Value>([&](stator_value** out) { return stator_value_create_bool(given.get<bool>() ? 1 : 0, out); });
  if (kind == "int")
    return made<Value>([&](stator_value** out) { return stator_value_create_int(given.get<int64_t>(), out); });
  if (kind == "float")
    return made<Value>([&](stator_value** out) { return stator_value_create_float(number(given), out); });
  if (kind == "complex") {
    return made<Value>(
        [&](stator_value** out) { return stator_value_create_complex(number(given.at(0)), number(given.at(1)), out); });
  }
  if (kind == "device") {
    return made<Value>([&](stator_value** out) {
      return stator_value_create_device(given.get_ref<const std::string&>().c_str(), out);
    });
  }
  if (kind == "str") {
    const auto& text = given.get_ref<const std::string&>();
    return made<Value>([&](stator_value** out) {
      return stator_value_create_str(text.data(), static_cast<int64_t>(text.size()), out);
    });
  }
  if (kind == "tensor") {
    Buffer buffer(given);
    return made<Value>([&](stator_value** out) {
      return stator_value_create_tensor(buffer.data(), buffer.dtype.code, STATOR_CPU, buffer.ndim(),
                                        buffer.shape.data(), buffer.strides.data(), out);
    });
  }
  if (kind == "list") return make_sequence(given, nullptr);
  if (kind == "tuple") return make_sequence(given, json.contains("names") ? &json.at("names") : &no_names);
  if (kind == "dict") {
    std::vector<std::pair<Json, Json>> pairs;
    for (const Json& pair : given) pairs.emplace_back(pair.at(0), pair.at(1));
    return make_dict(pairs);
  }
  throw std::runtime_error("unknown kind of value in the table: " + kind);
}

class Table {
 public:
  Table(Json json, std::string models) : json_(std::move(json)), models_(std::move(models)) {}

  // The number of failures; -1 if nothing ran.
  int run(const std::string& filter) {
    int ran = 0;
    int failed = 0;
    const auto attempt = [&](const std::string& name, auto body) {
      if (name.find(filter) == std::string::npos) return;
      ++ran;
      std::string trouble;
      try {
        body();
      } catch (const Refusal& refusal) {
        trouble = "refused: " + refusal.code + ": " + refusal.argument + " " + refusal.message;
      } catch (const std::exception& error) {
        trouble = error.what();
      }
      if (!trouble.empty()) ++failed;
      std::printf("%s %s%s%s\n", trouble.empty() ? "ok  " : "FAIL", name.c_str(), trouble.empty() ? "" : ": ",
                  trouble.c_str());
    };
    for (const Json& signature : json_.at("signatures")) {
      attempt(
          "signature of " + signature.at("model").get<std::string>() + " " + signature.at("method").get<std::string>(),
          [&] { run_signature(signature); });
    }
    for (const Json& test : json_.at("cases")) {
      const std::string name = test.at("name");
      attempt(name, [&] { run_case(test, false); });
      if (test.value("bindable", false)) attempt(name + " (bound)", [&] { run_case(test, true); });
    }
    for (int32_t kind = STATOR_HANDLE_STATUS; kind <= STATOR_HANDLE_EXPORT; ++kind) {
      if (const int64_t alive = stator_live_handles(kind); alive != 0) {
        ++failed;
        std::printf("FAIL %lld handles of kind %d are still alive\n", static_cast<long long>(alive), kind);
      }
    }
    std::printf("%d run, %d failed\n", ran, failed);
    return ran == 0 ? -1 : failed;
  }

 private:
  Module load(const Json& test) const {
    const auto options = made<Options>(stator_options_create);
    if (test.contains("options")) {
      for (const auto& [key, value] : test.at("options").items()) {
        check(stator_options_set_str(options.get(), key.c_str(), value.get_ref<const std::string&>().c_str()));
      }
    }
    const std::string path = models_ + "/" + test.at("model").get<std::string>();
    return made<Module>([&](stator_module** out) { return stator_module_load(path.c_str(), options.get(), out); });
  }

  void run_signature(const Json& signature) const {
    const Module module = load(signature);
    const stator_method* method = nullptr;
    check(
        stator_module_find_method(module.get(), signature.at("method").get_ref<const std::string&>().c_str(), &method));
    Json got = {{"inputs", Json::array()}, {"outputs", stator_method_output_count(method)}};
    for (int32_t i = 0; i < stator_method_input_count(method); ++i) {
      got["inputs"].push_back({{"name", stator_method_input_name(method, i)},
                               {"type", stator_method_input_type(method, i)},
                               {"written", stator_method_input_written(method, i) != 0}});
    }
    for (const char* key : {"inputs", "outputs"}) {
      if (got[key] != signature.at(key))
        throw Mismatch("expected " + signature.at(key).dump() + ", got " + got[key].dump());
    }
  }

  void run_case(const Json& test, bool bound) const {
    if (test.contains("error")) {
      expect_error(test.at("error"), [&] { load(test); });
      return;
    }
    const Module module = load(test);
    const auto runtime =
        made<Runtime>([&](stator_runtime** out) { return stator_runtime_create(module.get(), nullptr, out); });
    const auto arena = made<Arena>([&](stator_arena** out) { return stator_arena_create(module.get(), nullptr, out); });
    int place = 0;
    Objects objects;
    for (const Json& step : test.at("steps")) {
      std::vector<std::optional<Buffer>> buffers;
      objects.emplace_back();
      const auto body = [&] {
        const stator_method* method = nullptr;
        check(
            stator_module_find_method(module.get(), step.at("method").get_ref<const std::string&>().c_str(), &method));
        Value result = bound ? run_bound(step, runtime.get(), method, arena.get(), objects, buffers)
                             : call(step, runtime.get(), method, arena.get(), objects);
        if (!step.contains("error")) compare(result.get(), step.at("result"), "result");
        if (bound && !step.contains("error")) compare_outputs(arena.get(), step.at("result"));
        if (stator_value_kind(result.get()) == STATOR_KIND_OBJECT) objects.back() = std::move(result);
      };
      try {
        if (step.contains("error")) {
          expect_error(step.at("error"), body);
        } else {
          body();
          if (bound && step.contains("written")) compare_written(buffers, step.at("written"));
        }
        if (bound) check(stator_runtime_unbind(runtime.get(), nullptr));
      } catch (const Mismatch& mismatch) {
        throw Mismatch("step " + std::to_string(place) + ": " + mismatch.what());
      } catch (const Refusal& refusal) {
        throw Mismatch("step " + std::to_string(place) + " refused: " + refusal.code + ": " + refusal.argument + " " +
                       refusal.message);
      }
      ++place;
    }
  }

  static Value call(const Json& step, stator_runtime* runtime, const stator_method* method, stator_arena* arena,
                    const Objects& objects) {
    const Value args = make_sequence(step.at("args"), nullptr, objects);
    std::vector<std::pair<Json, Json>> pairs;
    if (step.contains("kwargs")) {
      for (const Json& pair : step.at("kwargs")) pairs.emplace_back(Json{{"str", pair.at(0)}}, pair.at(1));
    }
    const Value kwargs = pairs.empty() ? nullptr : make_dict(pairs);
    return made<Value>(
        [&](stator_value** out) { return stator_runtime_call(runtime, method, args.get(), kwargs.get(), arena, out); });
  }

  static Value run_bound(const Json& step, stator_runtime* runtime, const stator_method* method, stator_arena* arena,
                         const Objects& objects, std::vector<std::optional<Buffer>>& buffers) {
    int32_t index = 0;
    for (const Json& argument : step.at("args")) {
      std::optional<Buffer>& buffer = buffers.emplace_back();
      if (argument.contains("tensor")) {
        buffer.emplace(argument.at("tensor"));
        check(stator_runtime_bind(runtime, method, index, buffer->data(), buffer->dtype.code, STATOR_CPU,
                                  buffer->ndim(), buffer->shape.data(), buffer->strides.data()));
      } else {
        check(stator_runtime_bind_value(runtime, method, index, make_value(argument, objects).get()));
      }
      ++index;
    }
    check(stator_runtime_run(runtime, method, arena));
    return made<Value>([&](stator_value** out) { return stator_arena_result(arena, out); });
  }

  template <typename Body>
  static void expect_error(const Json& expected, Body body) {
    std::optional<Refusal> got;
    try {
      body();
    } catch (const Refusal& refusal) {
      got = refusal;
    }
    const std::string codes = expected.at("codes").dump();
    if (!got) throw Mismatch("expected " + codes + ", but it succeeded");
    if (codes.find('"' + got->code + '"') == std::string::npos)
      throw Mismatch("expected " + codes + ", got " + got->code + ": " + got->message);
    const std::vector<std::pair<const char*, const std::string*>> parts = {
        {"message", &got->message}, {"argument", &got->argument}, {"operator", &got->op}, {"source", &got->source}};
    for (const auto& [key, text] : parts) {
      if (!expected.contains(key)) continue;
      for (const Json& wanted : expected.at(key)) {
        if (text->find(wanted.get_ref<const std::string&>()) == std::string::npos) {
          throw Mismatch(std::string(key) + " of " + got->code + ": expected " + wanted.dump() + " in \"" + *text +
                         '"');
        }
      }
    }
  }

  // ------------------------------------------------------------------------------------------------ comparing

  bool close(double got, double expected, const std::string& dtype) const {
    if (std::isnan(expected) || std::isnan(got)) return std::isnan(expected) && std::isnan(got);
    const auto found = json_.at("tolerances").find(dtype);
    if (std::isinf(expected) || found == json_.at("tolerances").end()) return got == expected;
    return std::abs(got - expected) <= found->at(1).get<double>() + found->at(0).get<double>() * std::abs(expected);
  }

  void compare_element(const std::byte* element, const Dtype& dtype, size_t k, const Json& expected,
                       const std::string& where) const {
    if (dtype.component == 0) {
      const uint64_t got = read_bits(element, dtype.bytes);
      const Json& bits = expected.at("bits").at(k);
      if (got != bits.get<uint64_t>())
        throw Mismatch(where + ": expected bits " + bits.dump() + ", got " + std::to_string(got));
      return;
    }
    for (size_t part = 0; part < dtype.components; ++part) {
      const double got = read_component(element + part * dtype.component_bytes(), dtype.component);
      const Json& wanted = expected.at("data").at(k * dtype.components + part);
      if (!close(got, number(wanted), expected.at("dtype")))
        throw Mismatch(where + ": expected " + wanted.dump() + ", got " + std::to_string(got));
    }
  }

  void compare_tensor(const void* data, int32_t dtype, int32_t ndim, const int64_t* shape, const int64_t* strides,
                      const Json& expected, const std::string& where) const {
    const std::string name = expected.at("dtype");
    const Buffer wanted(expected);
    if (dtype != wanted.dtype.code) throw Mismatch(where + ": expected " + name + ", got " + text_of_dtype(dtype));
    const std::vector<int64_t> got_shape(shape, shape + ndim);
    const std::vector<int64_t> got_strides(strides, strides + ndim);
    if (got_shape != wanted.shape)
      throw Mismatch(where + ": expected shape " + expected.at("shape").dump() + ", got " + Json(got_shape).dump());
    for (size_t i = 0; i < wanted.shape.size(); ++i) {
      if (wanted.shape[i] > 1 && got_strides[i] != wanted.strides[i] && !wanted.bytes.empty()) {
        throw Mismatch(where + ": expected strides " + Json(wanted.strides).dump() + ", got " +
                       Json(got_strides).dump());
      }
    }
    for_each_element(wanted.shape, got_strides, [&](size_t k, size_t offset) {
      const auto* element = static_cast<const std::byte*>(data) + offset * wanted.dtype.bytes;
      compare_element(element, wanted.dtype, k, expected, where + ": element " + std::to_string(k));
    });
  }

  static std::string text_of_dtype(int32_t dtype) {
    const char* name = stator_dtype_name(dtype);
    return name == nullptr ? "unknown dtype " + std::to_string(dtype) : name;
  }

  void compare(const stator_value* value, const Json& expected, const std::string& where) const {
    static const std::map<std::string, int32_t> kinds = {
        {"none", STATOR_KIND_NONE},       {"bool", STATOR_KIND_BOOL},     {"int", STATOR_KIND_INT},
        {"float", STATOR_KIND_FLOAT},     {"str", STATOR_KIND_STR},       {"tensor", STATOR_KIND_TENSOR},
        {"list", STATOR_KIND_LIST},       {"tuple", STATOR_KIND_TUPLE},   {"dict", STATOR_KIND_DICT},
        {"complex", STATOR_KIND_COMPLEX}, {"device", STATOR_KIND_DEVICE}, {"object", STATOR_KIND_OBJECT}};
    const std::string& kind = expected.begin().key();
    const Json& wanted = expected.begin().value();
    if (const int32_t got = stator_value_kind(value); got != kinds.at(kind)) {
      throw Mismatch(where + ": expected a value of kind " + kind + ", got kind " + std::to_string(got));
    }
    if (kind == "tensor") {
      const void* data = nullptr;
      const int64_t* shape = nullptr;
      const int64_t* strides = nullptr;
      int32_t dtype = 0;
      int32_t device = 0;
      int32_t ndim = 0;
      check(stator_value_as_tensor(value, &data, &dtype, &device, &ndim, &shape, &strides));
      if (device != STATOR_CPU) throw Mismatch(where + ": expected the CPU, got device " + std::to_string(device));
      compare_tensor(data, dtype, ndim, shape, strides, wanted, where);
    } else if (kind == "list" || kind == "tuple" || kind == "dict") {
      compare_items(value, expected, where);
    } else if (kind != "none" && kind != "object") {
      compare_scalar(value, kind, wanted, where);
    }
  }

  void compare_scalar(const stator_value* value, const std::string& kind, const Json& wanted,
                      const std::string& where) const {
    Json got;
    bool equal = false;
    if (kind == "bool") {
      int32_t read = 0;
      check(stator_value_as_bool(value, &read));
      got = read != 0;
      equal = got == wanted;
    } else if (kind == "int") {
      int64_t read = 0;
      check(stator_value_as_int(value, &read));
      got = read;
      equal = got == wanted;
    } else if (kind == "float") {
      double read = 0;
      check(stator_value_as_float(value, &read));
      got = read;
      equal = close(read, number(wanted), "float64");
    } else if (kind == "complex") {
      double real = 0;
      double imag = 0;
      check(stator_value_as_complex(value, &real, &imag));
      got = {real, imag};
      equal = close(real, number(wanted.at(0)), "float64") && close(imag, number(wanted.at(1)), "float64");
    } else {
      const char* data = nullptr;
      int64_t size = 0;
      check(stator_value_as_str(value, &data, &size));
      if (data[size] != '\0') throw Mismatch(where + ": the text does not end in NUL");
      got = std::string(data, static_cast<size_t>(size));
      equal = got == wanted;
    }
    if (!equal) throw Mismatch(where + ": expected " + wanted.dump() + ", got " + got.dump());
  }

  void compare_items(const stator_value* value, const Json& expected, const std::string& where) const {
    const std::string& kind = expected.begin().key();
    const Json& wanted = expected.begin().value();
    const int64_t size = stator_value_size(value);
    if (size != static_cast<int64_t>(wanted.size()))
      throw Mismatch(where + ": expected " + std::to_string(wanted.size()) + " items, got " + std::to_string(size));
    for (int64_t i = 0; i < size; ++i) {
      const std::string place = where + "[" + std::to_string(i) + "]";
      const Json& entry = wanted.at(static_cast<size_t>(i));
      const Value item = made<Value>([&](stator_value** out) { return stator_value_item(value, i, out); });
      compare(item.get(), kind == "dict" ? entry.at(1) : entry, place);
      if (kind == "dict") {
        const Value key = made<Value>([&](stator_value** out) { return stator_value_key(value, i, out); });
        compare(key.get(), entry.at(0), place + ", its key");
      }
      if (kind == "tuple") {
        const char* field = stator_value_field(value, i);
        const Json name = field == nullptr ? Json() : Json(field);
        const Json wanted_name = expected.contains("names") ? expected.at("names").at(static_cast<size_t>(i)) : Json();
        if (name != wanted_name)
          throw Mismatch(place + ": expected the name " + wanted_name.dump() + ", got " + name.dump());
      }
    }
  }

  // The tensors of the result, depth first, as stator_arena_output() counts them.
  static void flatten(const Json& value, std::vector<const Json*>& found) {
    const std::string& kind = value.begin().key();
    const Json& inside = value.begin().value();
    if (kind == "tensor") found.push_back(&inside);
    if (kind == "list" || kind == "tuple") {
      for (const Json& item : inside) flatten(item, found);
    }
    if (kind == "dict") {
      for (const Json& pair : inside) flatten(pair.at(1), found);
    }
  }

  void compare_outputs(const stator_arena* arena, const Json& expected) const {
    std::vector<const Json*> wanted;
    flatten(expected, wanted);
    const int32_t count = stator_arena_output_count(arena);
    if (count != static_cast<int32_t>(wanted.size())) {
      throw Mismatch("expected " + std::to_string(wanted.size()) + " output tensors, got " + std::to_string(count));
    }
    for (int32_t i = 0; i < count; ++i) {
      const void* data = nullptr;
      const int64_t* shape = nullptr;
      const int64_t* strides = nullptr;
      int32_t dtype = 0;
      int32_t ndim = 0;
      check(stator_arena_output(arena, i, &data, &dtype, nullptr, &ndim, &shape, &strides));
      compare_tensor(data, dtype, ndim, shape, strides, *wanted[static_cast<size_t>(i)], "output " + std::to_string(i));
    }
  }

  void compare_written(std::vector<std::optional<Buffer>>& buffers, const Json& written) const {
    for (const Json& pair : written) {
      Buffer& buffer = buffers.at(pair.at(0).get<size_t>()).value();
      compare_tensor(buffer.data(), buffer.dtype.code, buffer.ndim(), buffer.shape.data(), buffer.strides.data(),
                     pair.at(1).at("tensor"), "input " + pair.at(0).dump() + " after the run");
    }
  }

  Json json_;
  std::string models_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) {
    std::fputs("usage: run_c cases.json MODELS [text that a case's name must contain]\n", stderr);
    return 2;
  }
  try {
    std::ifstream file(argv[1]);
    if (!file) throw std::runtime_error(std::string("cannot open ") + argv[1]);
    return Table(Json::parse(file), argv[2]).run(argc == 4 ? argv[3] : "") == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "run_c: %s\n", error.what());
    return 1;
  }
}
