#include <chrono>
#include <cmath>
#include <iostream>
#include <iterator>

#include "commands.h"
#include "print.h"
#include "progress.h"

namespace cli {
namespace {

std::string tensor_type(const stator_value* value) {
  int32_t dtype = 0;
  int32_t ndim = 0;
  const int64_t* shape = nullptr;
  check(stator_value_as_tensor(value, nullptr, &dtype, nullptr, &ndim, &shape, nullptr));
  const char* name = stator_dtype_name(dtype);
  return format_tensor_type(name ? name : "?", std::vector<int64_t>(shape, shape + ndim));
}

Json number_or_text(double value) {
  return std::isfinite(value) ? Json(value) : Json(std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
}

std::string text_value(const stator_value* value) {
  const char* data = nullptr;
  int64_t size = 0;
  check(stator_value_as_str(value, &data, &size));
  return std::string(data, static_cast<size_t>(size));
}

// A value that holds no others, as JSON.
Json leaf(const stator_value* value) {
  switch (stator_value_kind(value)) {
    case STATOR_KIND_NONE:
      return nullptr;
    case STATOR_KIND_BOOL: {
      int32_t result = 0;
      check(stator_value_as_bool(value, &result));
      return result != 0;
    }
    case STATOR_KIND_INT: {
      int64_t result = 0;
      check(stator_value_as_int(value, &result));
      return result;
    }
    case STATOR_KIND_FLOAT: {
      double result = 0;
      check(stator_value_as_float(value, &result));
      return number_or_text(result);
    }
    case STATOR_KIND_COMPLEX: {
      double real = 0;
      double imag = 0;
      check(stator_value_as_complex(value, &real, &imag));
      return Json{number_or_text(real), number_or_text(imag)};
    }
    case STATOR_KIND_STR:
    case STATOR_KIND_DEVICE:
      return text_value(value);
    case STATOR_KIND_TENSOR:
      return tensor_type(value);
    default:
      return "(an object)";
  }
}

const char* kind_name(int32_t kind) {
  constexpr const char* names[] = {"none",   "bool", "int",   "float", "complex", "str",
                                   "tensor", "list", "tuple", "dict",  "device",  "object"};
  return kind >= 0 && kind < static_cast<int32_t>(std::size(names)) ? names[kind] : "unknown";
}

// One entry per leaf of the result, with its place: "", "[0]", ".name", "['key'][1]".
void list_leaves(const stator_value* value, const std::string& place, Json& out) {
  const int32_t kind = stator_value_kind(value);
  if (kind != STATOR_KIND_LIST && kind != STATOR_KIND_TUPLE && kind != STATOR_KIND_DICT) {
    out.push_back(
        {{"place", place}, {"kind", kind_name(kind)}, {kind == STATOR_KIND_TENSOR ? "type" : "value", leaf(value)}});
    return;
  }
  for (int64_t i = 0; i < stator_value_size(value); ++i) {
    std::string step = "[" + std::to_string(i) + "]";
    if (const char* field = stator_value_field(value, i)) step = std::string(".") + field;
    if (kind == STATOR_KIND_DICT) {
      const ValuePtr key = make<ValuePtr>(stator_value_key, value, i);
      step = "[" + leaf(key.get()).dump(-1, ' ', false, Json::error_handler_t::replace) + "]";
    }
    list_leaves(make<ValuePtr>(stator_value_item, value, i).get(), place + step, out);
  }
}

}  // namespace

void run(const Common& common, const RunOptions& options) {
  const Module module = load_module(common);
  const stator_method* method = find_method(module.get(), common);
  const std::vector<Input> inputs = inputs_of(module.get(), method);
  const CallArguments call = call_arguments(inputs, read_arguments(inputs, options.inputs));
  const Runtime runtime = make<Runtime>(stator_runtime_create, module.get(), nullptr);
  const Arena arena = make<Arena>(stator_arena_create, module.get(), nullptr);

  const auto start = std::chrono::steady_clock::now();
  ValuePtr result;
  {
    const Progress progress("running " + common.method);
    result =
        make<ValuePtr>(stator_runtime_call, runtime.get(), method, call.args.get(), call.kwargs.get(), arena.get());
  }
  const double milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  if (!options.outputs.empty()) check(stator_value_write(result.get(), options.outputs.c_str()));

  Json leaves = Json::array();
  list_leaves(result.get(), "", leaves);
  if (common.json) {
    Json out = {{"model", common.model}, {"method", common.method}, {"run_ms", milliseconds}, {"outputs", leaves}};
    if (!options.outputs.empty()) out["file"] = options.outputs;
    return print_json(out);
  }
  Table table({"output", "kind", "value"});
  for (const Json& entry : leaves) {
    const Json& value = entry.contains("type") ? entry.at("type") : entry.at("value");
    table.add({"result" + entry.at("place").get<std::string>(), entry.at("kind"),
               entry.contains("type") ? value.get<std::string>()
                                      : value.dump(-1, ' ', false, Json::error_handler_t::replace)});
  }
  std::cout << table.str() << "in " << format_number(milliseconds) << " ms";
  if (!options.outputs.empty()) std::cout << ", written to " << options.outputs;
  std::cout << std::endl;
}

}  // namespace cli
