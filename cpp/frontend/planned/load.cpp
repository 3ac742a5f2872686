#include "frontend/planned/load.h"

#include <unordered_map>

#include "frontend/planned/contract.h"
#include "frontend/planned/graphs.h"
#include "frontend/planned/records.h"
#include "frontend/torchscript/class_code.h"
#include "graph/error.h"

namespace stator {
namespace {

using namespace planned;
using namespace json;

// Records by name, without the archive's own folder.
class Records {
 public:
  explicit Records(const ArchiveBytes& bytes) : bytes_(bytes) {
    for (ArchiveMember& each : archive_members(bytes.span())) {
      std::string name = each.name.substr(each.name.find('/') + 1);
      members_.emplace(std::move(name), std::move(each));
    }
  }

  std::span<const char> bytes(const std::string& name) const { return member_bytes(bytes_.span(), find(name)); }
  Json json(const std::string& name) const {
    const auto text = checked_member_bytes(bytes_.span(), find(name));
    return parse_json({text.data(), text.size()}, name);
  }

 private:
  const ArchiveMember& find(const std::string& name) const {
    auto found = members_.find(name);
    if (found == members_.end()) malformed("\"" + name + "\" is missing");
    return found->second;
  }

  const ArchiveBytes& bytes_;
  std::unordered_map<std::string, ArchiveMember> members_;
};

Maker read_manifest(const Json& manifest) {
  const int64_t format = integer(member(manifest, "format"), "the format");
  Maker maker{text(member(manifest, "stator"), "a version"), text(member(manifest, "torch"), "a version"),
              text(member(manifest, "cpu"), "a CPU")};
  if (format != kFormat) {
    throw Error(ErrorCode::kUnsupported, "it is a planned file of format " + std::to_string(format) + ", made by " +
                                             maker.str() + "; this library reads format " + std::to_string(kFormat) +
                                             ": convert the model anew");
  }
  return maker;
}

size_t read_count(const Json& json, const char* what) {
  const int64_t count = integer(json, what);
  constexpr int64_t kMost = int64_t{1} << 24;
  if (count < 0 || count > kMost) malformed(std::string(what) + " is no sensible number");
  return static_cast<size_t>(count);
}

class Reader {
 public:
  Reader(const Records& records, const Json& program, const ArchiveBytes& archive, bool borrow)
      : tensors_(
            member(program, "tensors"), read_count(member(program, "records"), "the number of records"),
            [&](size_t i) { return records.bytes(memory_record(i)); }, archive, borrow),
        classes_(read_classes(member(program, "classes"), tensors_)),
        types_(member(program, "types"), [this](const std::string& name) { return classes_.find(name); }),
        values_(member(program, "values"), types_, tensors_),
        graphs_(member(program, "operators"), member(program, "sources"), types_, values_,
                list(member(program, "slots"), "slots").size()) {}

  // What has to live as long as the program's types.
  std::shared_ptr<const void> owner() const { return classes_.owner(); }

  StateSlot slot(const Json& json) const {
    return {text(member(json, "name"), "a name"), types_[member(json, "type")], values_.read(json.at("value"))};
  }

  Method method(const Json& json) const {
    Method out;
    out.name = text(member(json, "name"), "a method");
    for (const Json& each : list(member(json, "parameters"), "parameters")) out.parameters.push_back(parameter(each));
    if (const Json* result = optional_member(json, "result")) out.result = types_[*result];
    if (const Json* contract = optional_member(json, "contract"))
      out.contract = read_contract(*contract, values_, out.parameters.size());
    if (const Json* graph = optional_member(json, "graph")) {
      out.graph = graphs_.read(*graph);
      if (out.graph->inputs().size() != out.parameters.size()) malformed("a graph has not its method's inputs");
    } else {
      out.unsupported = error(member(json, "unsupported"));
    }
    return out;
  }

  SavedPlan plan(const Json& json) const {
    SavedPlan out{text(member(json, "method"), "a method"),
                  text(member(json, "signature"), "a signature"),
                  static_cast<int>(read_count(member(json, "threads"), "threads")),
                  {}};
    for (const Json& word : list(member(json, "record"), "a record")) out.record.push_back(integer(word, "a record"));
    return out;
  }

  SavedWeight weight(const Json& json) const {
    if (list(json, "a weight").size() != 3) malformed("a weight is not what it should be");
    SavedWeight out{tensors_[json[0]], text(json[1], "a form"), tensors_[json[2]]};
    if (!out.weight.defined() || !out.packed.defined()) malformed("a weight is no tensor");
    return out;
  }

 private:
  Parameter parameter(const Json& json) const {
    Parameter out{text(member(json, "name"), "a name"), types_[member(json, "type")], std::nullopt};
    if (const Json* value = optional_member(json, "default")) {
      if (list(*value, "a default").size() != 1) malformed("a default is not one value");
      out.default_value = values_.read((*value)[0]);
    }
    return out;
  }

  static Error error(const Json& json) {
    if (list(json, "an error").size() != 6) malformed("an error is not what it should be");
    const auto part = [&](size_t i) { return text(json[i], "an error"); };
    return {static_cast<ErrorCode>(integer(json[0], "a code")), part(1), {part(2), part(3), part(4), part(5)}};
  }

  static ClassCode read_classes(const Json& json, const TensorReader& tensors) {
    ClassCode out;
    const Json& sources = member(json, "sources");
    if (!sources.is_object()) malformed("classes have no sources");
    for (auto it = sources.begin(); it != sources.end(); ++it) out.sources[it.key()] = text(*it, "a source");
    for (const Json& constant : list(member(json, "constants"), "constants"))
      out.constants.push_back(tensors[constant]);
    out.version = static_cast<uint64_t>(read_count(member(json, "version"), "a version"));
    return out;
  }

  const TensorReader tensors_;
  const ClassLoader classes_;
  const TypeReader types_;
  const ValueReader values_;
  const GraphReader graphs_;
};

Program read(const ArchiveBytes& bytes, bool borrow) {
  const Records records(bytes);
  Program program;
  program.saved.emplace().maker = read_manifest(records.json(kManifest));
  const Json json = records.json(kProgram);
  const Reader reader(records, json, bytes, borrow);
  program.format = text(member(json, "source"), "a format");
  program.training = boolean(member(json, "training"), "training");
  for (const Json& slot : list(member(json, "slots"), "slots")) program.slots.push_back(reader.slot(slot));
  for (const Json& method : list(member(json, "methods"), "methods")) program.methods.push_back(reader.method(method));
  program.keep_alive = reader.owner();
  const Json plans = records.json(kPlans);
  for (const Json& plan : list(member(plans, "plans"), "plans")) program.saved->plans.push_back(reader.plan(plan));
  for (const Json& weight : list(member(plans, "weights"), "weights"))
    program.saved->weights.push_back(reader.weight(weight));
  return program;
}

}  // namespace

Program load_planned(const ArchiveBytes& bytes, bool borrow) {
  try {
    return read(bytes, borrow);
  } catch (const c10::Error& error) {
    malformed(error.what_without_backtrace());
  } catch (const Json::exception& error) {
    malformed(error.what());
  }
}

}  // namespace stator
