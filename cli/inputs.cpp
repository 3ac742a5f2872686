#include "inputs.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <random>

#include "print.h"

namespace cli {
namespace {

constexpr int32_t kDtypes[] = {STATOR_INT8,    STATOR_INT16,    STATOR_INT32,     STATOR_INT64,      STATOR_UINT8,
                               STATOR_UINT16,  STATOR_UINT32,   STATOR_UINT64,    STATOR_FLOAT16,    STATOR_FLOAT32,
                               STATOR_FLOAT64, STATOR_BFLOAT16, STATOR_COMPLEX64, STATOR_COMPLEX128, STATOR_BOOL};

template <class T>
bool parse_number(std::string_view text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

std::string signature(const std::vector<Input>& inputs) {
  std::string result;
  for (const Input& input : inputs)
    result +=
        (result.empty() ? "" : ", ") + input.name + ": " + input.type + (input.required ? "" : " (has a default)");
  return result.empty() ? "no inputs" : result;
}

std::string without_optional(std::string type) {
  if (type.starts_with("Optional[") && type.ends_with("]")) return type.substr(9, type.size() - 10);
  return type;
}

// -- random tensors

// Floats lie in [-1, 1), integers are 0 or 1: an index that is valid almost everywhere.
void fill(uint8_t* data, int64_t count, int32_t dtype, std::mt19937_64& random) {
  const int bits = dtype >> 8;
  const int size = bits / 8;
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-52 - 1.0; };
  if (dtype == STATOR_COMPLEX64 || dtype == STATOR_COMPLEX128) {
    fill(data, 2 * count, dtype == STATOR_COMPLEX64 ? STATOR_FLOAT32 : STATOR_FLOAT64, random);
    return;
  }
  for (int64_t i = 0; i < count; ++i, data += size) {
    if (dtype == STATOR_FLOAT64) {
      const double value = uniform();
      std::memcpy(data, &value, sizeof value);
    } else if (dtype == STATOR_FLOAT32 || dtype == STATOR_BFLOAT16) {
      const auto value = static_cast<float>(uniform());
      uint32_t word = 0;
      std::memcpy(&word, &value, sizeof value);
      if (dtype == STATOR_BFLOAT16) word >>= 16;  // its upper half
      std::memcpy(data, &word, static_cast<size_t>(size));
    } else if (dtype == STATOR_FLOAT16) {
      const auto word = static_cast<uint16_t>((random() & 0x83ff) | 0x3800);  // magnitude in [0.5, 1)
      std::memcpy(data, &word, sizeof word);
    } else {
      const uint64_t value = random() & 1;
      std::memcpy(data, &value, static_cast<size_t>(size));  // little-endian
    }
  }
}

ValuePtr random_tensor(const std::string& spec, size_t bracket, uint64_t seed) {
  const std::string name = spec.substr(0, bracket);
  int32_t dtype = 0;
  for (const int32_t known : kDtypes) {
    if (name == stator_dtype_name(known)) dtype = known;
  }
  if (dtype == 0)
    throw UsageError("--shape " + spec + ": no dtype \"" + name +
                     "\" for random values; use one of PyTorch's, such as float32, int64 or bool");

  const UsageError bad_shape("--shape " + spec + ": expected whole numbers between the brackets, as in " + name +
                             "[1,32]");
  if (!spec.ends_with("]")) throw bad_shape;
  std::string_view rest = std::string_view(spec).substr(bracket + 1, spec.size() - bracket - 2);
  std::vector<int64_t> shape;
  int64_t count = 1;
  while (!rest.empty()) {
    const size_t comma = std::min(rest.find(','), rest.size());
    std::string_view number = rest.substr(0, comma);
    while (number.starts_with(' ')) number.remove_prefix(1);
    int64_t size = 0;
    if (!parse_number(number, size) || size < 0) throw bad_shape;
    if (__builtin_mul_overflow(count, size, &count) || count > (int64_t{1} << 40))
      throw UsageError("--shape " + spec + ": too large");
    shape.push_back(size);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  std::vector<uint8_t> data(static_cast<size_t>(count * (dtype >> 8) / 8));
  std::mt19937_64 random(seed);
  fill(data.data(), count, dtype, random);
  return make<ValuePtr>(stator_value_create_tensor, static_cast<const void*>(data.data()), dtype, STATOR_CPU,
                        static_cast<int32_t>(shape.size()), static_cast<const int64_t*>(shape.data()), nullptr);
}

// -- from a file

ValuePtr item(const stator_value* value, int64_t index) { return make<ValuePtr>(stator_value_item, value, index); }

std::string key_text(const stator_value* dict, int64_t index, const std::string& file) {
  const ValuePtr key = make<ValuePtr>(stator_value_key, dict, index);
  if (stator_value_kind(key.get()) != STATOR_KIND_STR)
    throw Failure(STATOR_TYPE_MISMATCH, file + ": the keys of its dict are no texts, so they name no inputs");
  const char* data = nullptr;
  int64_t size = 0;
  check(stator_value_as_str(key.get(), &data, &size));
  return std::string(data, static_cast<size_t>(size));
}

// arr_0, arr_1, ... in any order: the positions; empty if there is any other name.
std::vector<size_t> numpy_positions(const std::vector<std::string>& names) {
  std::vector<size_t> result;
  std::vector<bool> seen(names.size(), false);
  for (const std::string& name : names) {
    size_t position = 0;
    if (!name.starts_with("arr_") || !parse_number(std::string_view(name).substr(4), position) ||
        position >= names.size() || seen[position])
      return {};
    seen[position] = true;
    result.push_back(position);
  }
  return result;
}

// A tensor of no dimension as the number that the method takes.
ValuePtr as_number(ValuePtr value, const std::string& type) {
  if (stator_value_kind(value.get()) != STATOR_KIND_TENSOR) return value;
  const std::string wanted = without_optional(type);
  if (wanted != "int" && wanted != "float" && wanted != "bool") return value;
  const void* data = nullptr;
  int32_t dtype = 0;
  int32_t ndim = 0;
  check(stator_value_as_tensor(value.get(), &data, &dtype, nullptr, &ndim, nullptr, nullptr));
  if (ndim != 0) return value;
  const auto load = [&]<class T>(T) {
    T element{};
    std::memcpy(&element, data, sizeof element);
    return element;
  };
  if (wanted == "bool" && dtype == STATOR_BOOL)
    return make<ValuePtr>(stator_value_create_bool, int32_t{load(uint8_t{})});
  if (wanted == "float" && dtype == STATOR_FLOAT64) return make<ValuePtr>(stator_value_create_float, load(double{}));
  if (wanted == "float" && dtype == STATOR_FLOAT32)
    return make<ValuePtr>(stator_value_create_float, double{load(float{})});
  if (wanted == "int" && dtype == STATOR_INT64) return make<ValuePtr>(stator_value_create_int, load(int64_t{}));
  if (wanted == "int" && dtype == STATOR_INT32)
    return make<ValuePtr>(stator_value_create_int, int64_t{load(int32_t{})});
  return value;  // the library says what is wrong with it
}

void place_by_name(Arguments& arguments, const std::vector<Input>& inputs, const stator_value* dict,
                   const std::string& file) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < stator_value_size(dict); ++i) names.push_back(key_text(dict, i, file));
  const auto place_of = [&](const std::string& name) {
    return std::find_if(inputs.begin(), inputs.end(), [&](const Input& input) { return input.name == name; }) -
           inputs.begin();
  };
  std::vector<size_t> positions = numpy_positions(names);
  const bool named =
      std::any_of(names.begin(), names.end(), [&](const auto& name) { return place_of(name) < std::ssize(inputs); });
  if (named || positions.empty()) {
    positions.clear();
    for (const std::string& name : names) positions.push_back(static_cast<size_t>(place_of(name)));
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (positions[i] >= inputs.size())
      throw Failure(STATOR_INVALID_ARGUMENT,
                    file + ": no input \"" + names[i] + "\"; the method takes " + signature(inputs));
    arguments[positions[i]] = item(dict, static_cast<int64_t>(i));
  }
}

Arguments from_file(const std::vector<Input>& inputs, const std::string& file) {
  ValuePtr value = make<ValuePtr>(stator_value_read, file.c_str());
  Arguments arguments(inputs.size());
  const int32_t kind = stator_value_kind(value.get());
  if (kind == STATOR_KIND_DICT) {
    place_by_name(arguments, inputs, value.get(), file);
  } else if (kind == STATOR_KIND_LIST || kind == STATOR_KIND_TUPLE) {
    const int64_t count = stator_value_size(value.get());
    if (count > std::ssize(inputs)) {
      throw Failure(STATOR_INVALID_ARGUMENT,
                    file + ": holds " + plural(count, "value") + "; the method takes " + signature(inputs));
    }
    for (int64_t i = 0; i < count; ++i) arguments[static_cast<size_t>(i)] = item(value.get(), i);
  } else if (kind == STATOR_KIND_TENSOR && !inputs.empty()) {
    arguments[0] = std::move(value);
  } else {
    throw Failure(
        STATOR_TYPE_MISMATCH,
        file + ": expected a list, tuple or dict of inputs, or one tensor; the method takes " + signature(inputs));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (arguments[i]) arguments[i] = as_number(std::move(arguments[i]), inputs[i].type);
  }
  return arguments;
}

Arguments from_shapes(const std::vector<Input>& inputs, const std::vector<std::string>& shapes) {
  Arguments arguments(inputs.size());
  size_t next = 0;
  for (const std::string& shape : shapes) {
    const size_t equals = shape.find('=');
    size_t place = next;
    if (equals != std::string::npos) {
      const std::string name = shape.substr(0, equals);
      for (place = 0; place < inputs.size() && inputs[place].name != name;) ++place;
      if (place == inputs.size())
        throw UsageError("--shape " + shape + ": no input \"" + name + "\"; the method takes " + signature(inputs));
    }
    if (place >= inputs.size())
      throw UsageError("--shape " + shape + ": one too many; the method takes " + signature(inputs));
    if (arguments[place])
      throw UsageError("--shape " + shape + ": input \"" + inputs[place].name + "\" was given before");
    const std::string spec = equals == std::string::npos ? shape : shape.substr(equals + 1);
    arguments[place] = make_value(spec, inputs[place].type, place + 1);
    next = place + 1;
  }
  return arguments;
}

}  // namespace

ValuePtr make_value(const std::string& spec, const std::string& type, uint64_t seed) {
  if (without_optional(type) == "str")
    return make<ValuePtr>(stator_value_create_str, spec.data(), static_cast<int64_t>(spec.size()));
  if (const size_t bracket = spec.find('['); bracket != std::string::npos) return random_tensor(spec, bracket, seed);
  if (spec == "true" || spec == "True") return make<ValuePtr>(stator_value_create_bool, int32_t{1});
  if (spec == "false" || spec == "False") return make<ValuePtr>(stator_value_create_bool, int32_t{0});
  if (spec == "none" || spec == "None") return make<ValuePtr>(stator_value_create_none);
  int64_t whole = 0;
  if (parse_number(spec, whole) && without_optional(type) != "float")
    return make<ValuePtr>(stator_value_create_int, whole);
  double real = 0;
  if (parse_number(spec, real)) return make<ValuePtr>(stator_value_create_float, real);
  throw UsageError("--shape " + spec + ": expected a tensor as in float32[1,32], a number, true, false or none");
}

Arguments read_arguments(const std::vector<Input>& inputs, const InputOptions& options) {
  if (!options.file.empty() && !options.shapes.empty()) throw UsageError("--inputs and --shape exclude each other");
  Arguments arguments = options.file.empty() ? from_shapes(inputs, options.shapes) : from_file(inputs, options.file);
  std::vector<Input> missing;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!arguments[i] && inputs[i].required) missing.push_back(inputs[i]);
  }
  if (missing.empty()) return arguments;
  if (!options.file.empty())
    throw Failure(STATOR_INPUT_MISSING,
                  options.file + ": missing " + signature(missing) + "; the method takes " + signature(inputs));
  std::string example;
  for (const Input& input : missing) {
    const std::string type = without_optional(input.type);
    example += " --shape " + input.name + "=" +
               (type == "int"     ? "5"
                : type == "float" ? "0.5"
                : type == "bool"  ? "true"
                : type == "str"   ? "text"
                                  : "float32[1,32]");
  }
  throw UsageError("missing " + signature(missing) + "; give --inputs FILE, or random values as in" + example);
}

CallArguments call_arguments(const std::vector<Input>& inputs, const Arguments& arguments) {
  std::vector<const stator_value*> positional;
  std::vector<ValuePtr> keys;
  std::vector<const stator_value*> key_pointers;
  std::vector<const stator_value*> named;
  bool by_position = true;
  for (size_t i = 0; i < inputs.size(); ++i) {
    by_position = by_position && arguments[i];
    if (by_position) {
      positional.push_back(arguments[i].get());
    } else if (arguments[i]) {
      keys.push_back(
          make<ValuePtr>(stator_value_create_str, inputs[i].name.data(), static_cast<int64_t>(inputs[i].name.size())));
      key_pointers.push_back(keys.back().get());
      named.push_back(arguments[i].get());
    }
  }
  CallArguments result;
  result.args =
      make<ValuePtr>(stator_value_create_tuple, positional.data(), static_cast<int64_t>(positional.size()), nullptr);
  if (!named.empty())
    result.kwargs =
        make<ValuePtr>(stator_value_create_dict, key_pointers.data(), named.data(), static_cast<int64_t>(named.size()));
  return result;
}

}  // namespace cli
