// Values.
#include <ATen/core/Dict.h>

#include <algorithm>

#include "graph/log.h"
#include "graph/named_tuple.h"
#include "guard.h"
#include "handles.h"
#include "tensors.h"
#include "values.h"
#include "values/files.h"

using namespace stator;
using namespace stator::capi;

namespace {

template <class Make>
stator_status* create(stator_value** out, Make&& make) {
  return guarded([&] {
    require_handle(out, "out");
    *out = make_value(c10::IValue(make())).release();
  });
}

constexpr const char* kKindNames[] = {"None",     "a bool", "an int",  "a float", "a complex number", "a str",
                                      "a tensor", "a list", "a tuple", "a dict",  "a device",         "an object"};

const c10::IValue& expect(const stator_value* value, int32_t kind) {
  require_handle(value, "value");
  int32_t got = kind_of(value->value);
  if (got != kind)
    throw Error(ErrorCode::kInvalidArgument, std::string("expected ") + kKindNames[kind] + ", got " + kKindNames[got]);
  return value->value;
}

// What a container made of values holds: the values' own tensors, tied to the arenas that they are in.
std::vector<c10::IValue> collect(const stator_value* const* items, int64_t count, const char* parameter) {
  require(count >= 0, "count", "is negative");
  require(count == 0 || items, parameter, "is NULL");
  std::vector<c10::IValue> out;
  out.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    if (!items[i])
      throw Error(ErrorCode::kInvalidArgument,
                  std::string("parameter \"") + parameter + "\": element " + std::to_string(i) + " is NULL");
    out.push_back(hold_lease(items[i]->value, items[i]->lease));
  }
  return out;
}

c10::TypePtr common_type(const std::vector<c10::IValue>& values) {
  if (values.empty()) return c10::AnyType::get();
  auto type = values[0].type();
  for (const auto& value : values) {
    if (*value.type() != *type) return c10::AnyType::get();
  }
  return type;
}

c10::IValue make_tuple(std::vector<c10::IValue> elements, const char* const* names) {
  if (!names) return c10::ivalue::Tuple::create(std::move(elements));
  std::vector<std::string> fields;
  std::vector<c10::TypePtr> types;
  for (size_t i = 0; i < elements.size(); ++i) {
    require(names[i] != nullptr, "names", "holds a NULL");
    fields.emplace_back(names[i]);
    types.push_back(elements[i].type());
  }
  auto type = named_tuple_type(c10::QualifiedName("__torch__.stator.NamedTuple"), fields, types);
  return c10::ivalue::Tuple::createNamed(std::move(elements), type);
}

// Numbers of several types as keys are all of the widest of them, as 1, True and 1.0 are one key of a Python dict.
void widen_keys(std::vector<c10::IValue>& keys) {
  const auto holds = [&](bool (c10::IValue::*is)() const) {
    return std::any_of(keys.begin(), keys.end(), [is](const c10::IValue& key) { return (key.*is)(); });
  };
  if (!std::all_of(keys.begin(), keys.end(), [](const c10::IValue& key) { return key.isScalar(); })) return;
  const bool complex = holds(&c10::IValue::isComplexDouble);
  const bool real = holds(&c10::IValue::isDouble);
  const bool whole = holds(&c10::IValue::isInt);
  for (c10::IValue& key : keys) {
    const c10::Scalar number = key.toScalar();
    if (complex) {
      key = number.toComplexDouble();
    } else if (real) {
      key = number.toDouble();
    } else if (whole) {
      key = number.toLong();
    }
  }
}

c10::IValue make_dict(std::vector<c10::IValue> keys, std::vector<c10::IValue> items) {
  for (const auto& key : keys) {
    int32_t kind = kind_of(key);
    bool hashable = kind == STATOR_KIND_BOOL || kind == STATOR_KIND_INT || kind == STATOR_KIND_FLOAT ||
                    kind == STATOR_KIND_COMPLEX || kind == STATOR_KIND_STR || kind == STATOR_KIND_TENSOR;
    if (!hashable)
      throw Error(ErrorCode::kInvalidArgument, std::string("a dict's key is ") + kKindNames[kind] +
                                                   "; expected a bool, int, float, complex, str or tensor");
  }
  widen_keys(keys);
  auto key_type = keys.empty() ? c10::TypePtr(c10::StringType::get()) : common_type(keys);
  if (key_type->kind() == c10::TypeKind::AnyType)
    throw Error(ErrorCode::kUnsupported, "the keys of a dict must be numbers, or all of one type");
  c10::impl::GenericDict dict(key_type, common_type(items));
  for (size_t i = 0; i < keys.size(); ++i) dict.insert_or_assign(keys[i], items[i]);
  return dict;
}

// The pair at a place, by the dict's order.
std::pair<c10::IValue, c10::IValue> pair_at(const c10::impl::GenericDict& dict, int64_t index) {
  auto it = dict.begin();
  for (int64_t i = 0; i < index; ++i) ++it;
  return {it->key(), it->value()};
}

int64_t size_of(const c10::IValue& value) {
  switch (kind_of(value)) {
    case STATOR_KIND_LIST:
      return static_cast<int64_t>(value.toList().size());
    case STATOR_KIND_TUPLE:
      return static_cast<int64_t>(value.toTupleRef().elements().size());
    case STATOR_KIND_DICT:
      return static_cast<int64_t>(value.toGenericDict().size());
    case STATOR_KIND_STR:
      return static_cast<int64_t>(value.toStringRef().size());
    case STATOR_KIND_TENSOR:
      return value.toTensor().defined() ? value.toTensor().numel() : 0;
    default:
      return 0;
  }
}

void check_index(const stator_value* value, int64_t index) {
  require_handle(value, "value");
  int64_t size = size_of(value->value);
  int32_t kind = kind_of(value->value);
  if (kind != STATOR_KIND_LIST && kind != STATOR_KIND_TUPLE && kind != STATOR_KIND_DICT) {
    throw Error(ErrorCode::kInvalidArgument, std::string("expected a list, tuple or dict, got ") + kKindNames[kind]);
  }
  if (index < 0 || index >= size)
    throw Error(ErrorCode::kInvalidArgument,
                "the value has " + std::to_string(size) + " items, got index " + std::to_string(index));
}

// The texts of devices, which are few, live as long as the process.
const std::string& device_text(const c10::Device& device) {
  static std::mutex mutex;
  static auto& texts = *new std::map<std::string, std::unique_ptr<std::string>>;
  std::string text = device.str();
  std::lock_guard lock(mutex);
  auto& kept = texts[text];
  if (!kept) kept = std::make_unique<std::string>(text);
  return *kept;
}

template <class Managed>
stator_status* adopt_dlpack(Managed* tensor, stator_value** out) {
  return guarded([&] {
    require_handle(tensor, "tensor");
    require_handle(out, "out");
    bool read_only = false;
    auto owned = std::make_shared<bool>(false);
    at::Tensor borrowed;
    if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>) {
      borrowed = borrow_dlpack(tensor, owned, &read_only);
    } else {
      borrowed = borrow_dlpack(tensor, owned);
    }
    auto value = make_value(std::move(borrowed));
    value->read_only = read_only;
    *owned = true;
    *out = value.release();
  });
}

}  // namespace

stator_status* stator_value_create_none(stator_value** out) {
  return create(out, [] { return c10::IValue(); });
}

stator_status* stator_value_create_bool(int32_t value, stator_value** out) {
  return create(out, [&] { return value != 0; });
}

stator_status* stator_value_create_int(int64_t value, stator_value** out) {
  return create(out, [&] { return value; });
}

stator_status* stator_value_create_float(double value, stator_value** out) {
  return create(out, [&] { return value; });
}

stator_status* stator_value_create_complex(double real, double imag, stator_value** out) {
  return create(out, [&] { return c10::complex<double>(real, imag); });
}

stator_status* stator_value_create_str(const char* data, int64_t size, stator_value** out) {
  return create(out, [&] {
    require(size >= 0, "size", "is negative");
    require(data || size == 0, "data", "is NULL");
    return std::string(data ? data : "", static_cast<size_t>(size));
  });
}

stator_status* stator_value_create_device(const char* name, stator_value** out) {
  return create(out, [&] {
    require_handle(name, "name");
    try {
      return c10::Device(name);
    } catch (const c10::Error& error) {
      throw Error(ErrorCode::kInvalidArgument,
                  std::string("\"") + name + "\" is no device: " + error.what_without_backtrace());
    }
  });
}

stator_status* stator_value_create_tensor(const void* data, int32_t dtype, int32_t device, int32_t ndim,
                                          const int64_t* shape, const int64_t* strides, stator_value** out) {
  return create(out, [&] {
    WarningsToLog warnings;
    return copy_tensor(borrow_tensor({data, dtype, device, ndim, shape, strides}));
  });
}

stator_status* stator_value_create_tensor_shared(void* data, int32_t dtype, int32_t device, int32_t ndim,
                                                 const int64_t* shape, const int64_t* strides,
                                                 stator_release_fn release_data, void* context, stator_value** out) {
  return guarded([&] {
    require_handle(out, "out");
    auto armed = std::make_shared<bool>(false);
    auto value = make_value(borrow_tensor({data, dtype, device, ndim, shape, strides}, [=] {
      if (*armed && release_data) release_data(context);
    }));
    *armed = true;
    *out = value.release();
  });
}

stator_status* stator_value_from_dlpack(DLManagedTensorVersioned* tensor, stator_value** out) {
  return adopt_dlpack(tensor, out);
}

stator_status* stator_value_from_dlpack_legacy(DLManagedTensor* tensor, stator_value** out) {
  return adopt_dlpack(tensor, out);
}

stator_status* stator_value_create_list(const stator_value* const* items, int64_t count, stator_value** out) {
  return create(out, [&] {
    auto values = collect(items, count, "items");
    c10::impl::GenericList list(common_type(values));
    for (auto& value : values) list.push_back(std::move(value));
    return list;
  });
}

stator_status* stator_value_create_tuple(const stator_value* const* items, int64_t count, const char* const* names,
                                         stator_value** out) {
  return create(out, [&] { return make_tuple(collect(items, count, "items"), names); });
}

stator_status* stator_value_create_dict(const stator_value* const* keys, const stator_value* const* items,
                                        int64_t count, stator_value** out) {
  return create(out, [&] { return make_dict(collect(keys, count, "keys"), collect(items, count, "items")); });
}

void stator_value_retain(stator_value* value) { retain(value); }

void stator_value_release(stator_value* value) { release(value); }

int32_t stator_value_kind(const stator_value* value) { return value ? kind_of(value->value) : STATOR_KIND_NONE; }

int64_t stator_value_size(const stator_value* value) { return value ? size_of(value->value) : 0; }

stator_status* stator_value_item(const stator_value* value, int64_t index, stator_value** out) {
  return guarded([&] {
    check_index(value, index);
    require_handle(out, "out");
    const c10::IValue& v = value->value;
    c10::IValue item = v.isList()    ? v.toList().get(index)
                       : v.isTuple() ? v.toTupleRef().elements()[index]
                                     : pair_at(v.toGenericDict(), index).second;
    *out = make_value(std::move(item), value->lease).release();
  });
}

stator_status* stator_value_key(const stator_value* value, int64_t index, stator_value** out) {
  return guarded([&] {
    expect(value, STATOR_KIND_DICT);
    check_index(value, index);
    require_handle(out, "out");
    *out = make_value(pair_at(value->value.toGenericDict(), index).first, value->lease).release();
  });
}

const char* stator_value_field(const stator_value* value, int64_t index) {
  if (!value || !value->value.isTuple()) return nullptr;
  const auto& schema = value->value.toTupleRef().type()->schema();
  if (!schema || index < 0 || index >= static_cast<int64_t>(schema->arguments().size())) return nullptr;
  return schema->arguments()[index].name().c_str();
}

stator_status* stator_value_as_bool(const stator_value* value, int32_t* out) {
  return guarded([&] {
    const auto& v = expect(value, STATOR_KIND_BOOL);
    require_handle(out, "out");
    *out = v.toBool();
  });
}

stator_status* stator_value_as_int(const stator_value* value, int64_t* out) {
  return guarded([&] {
    const auto& v = expect(value, STATOR_KIND_INT);
    require_handle(out, "out");
    *out = v.toInt();
  });
}

stator_status* stator_value_as_float(const stator_value* value, double* out) {
  return guarded([&] {
    const auto& v = expect(value, STATOR_KIND_FLOAT);
    require_handle(out, "out");
    *out = v.toDouble();
  });
}

stator_status* stator_value_as_complex(const stator_value* value, double* real, double* imag) {
  return guarded([&] {
    const auto& v = expect(value, STATOR_KIND_COMPLEX);
    require_handle(real, "real");
    require_handle(imag, "imag");
    *real = v.toComplexDouble().real();
    *imag = v.toComplexDouble().imag();
  });
}

stator_status* stator_value_as_str(const stator_value* value, const char** data, int64_t* size) {
  return guarded([&] {
    require_handle(value, "value");
    require_handle(data, "data");
    require_handle(size, "size");
    const std::string& text =
        value->value.isDevice() ? device_text(value->value.toDevice()) : expect(value, STATOR_KIND_STR).toStringRef();
    *data = text.c_str();
    *size = static_cast<int64_t>(text.size());
  });
}

stator_status* stator_value_as_tensor(const stator_value* value, const void** data, int32_t* dtype, int32_t* device,
                                      int32_t* ndim, const int64_t** shape, const int64_t** strides) {
  return guarded(
      [&] { read_tensor(expect(value, STATOR_KIND_TENSOR).toTensor(), data, dtype, device, ndim, shape, strides); });
}

stator_status* stator_value_export(const stator_value* value, DLManagedTensorVersioned** out) {
  return guarded([&] {
    const auto& v = expect(value, STATOR_KIND_TENSOR);
    require_handle(out, "out");
    *out = to_dlpack(v.toTensor(), value->lease, value->read_only);
  });
}

stator_status* stator_value_export_legacy(const stator_value* value, DLManagedTensor** out) {
  return guarded([&] {
    const auto& v = expect(value, STATOR_KIND_TENSOR);
    require_handle(out, "out");
    *out = to_dlpack_legacy(v.toTensor(), value->lease);
  });
}

stator_status* stator_value_read(const char* path, stator_value** out) {
  return guarded([&] {
    require_handle(path, "path");
    require_handle(out, "out");
    *out = make_value(read_value(path)).release();
  });
}

stator_status* stator_value_write(const stator_value* value, const char* path) {
  return guarded([&] {
    require_handle(value, "value");
    require_handle(path, "path");
    write_value(value->value, path);
  });
}
