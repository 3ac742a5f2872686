#include "frontend/planned/save.h"

#include <caffe2/serialize/inline_container.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "frontend/planned/contract.h"
#include "frontend/planned/graphs.h"
#include "frontend/planned/records.h"
#include "frontend/torchscript/class_code.h"
#include "graph/error.h"

namespace stator {
namespace {

using namespace planned;

// Line breaks and bytes that are no UTF-8 stand in texts for people only.
std::string dumped(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

class Writer {
 public:
  Json program(const ProgramView& program) {
    Json slots = Json::array(), methods = Json::array();
    for (const StateSlot& slot : program.slots)
      slots.push_back(named("state \"" + slot.name + "\"", [&]() -> Json {
        return {{"name", slot.name}, {"type", types_.add(slot.type)}, {"value", values_.write(slot.value)}};
      }));
    for (const Method* each : program.methods)
      methods.push_back(named("method \"" + each->name + "\"", [&] { return method(*each); }));
    return {{"source", program.format},
            {"training", program.training},
            {"slots", std::move(slots)},
            {"methods", std::move(methods)}};
  }

  Json plans(const SavedPlans& saved) {
    Json weights = Json::array(), plans = Json::array();
    for (const SavedWeight& each : saved.weights) {
      // Of a constant that a plan has computed, the form is made when the plan is.
      if (!tensors_.has_memory(each.weight)) continue;
      weights.push_back({tensors_.add(each.weight), each.form, tensors_.add(each.packed)});
    }
    for (const SavedPlan& each : saved.plans) {
      plans.push_back(
          {{"method", each.method}, {"signature", each.signature}, {"threads", each.threads}, {"record", each.record}});
    }
    return {{"weights", std::move(weights)}, {"plans", std::move(plans)}};
  }

  void add_tables(Json& program) {
    program["classes"] = classes();
    program["types"] = types_.rows();
    program["tensors"] = tensors_.rows();
    program["values"] = values_.rows();
    program["operators"] = graphs_.operators();
    program["sources"] = graphs_.sources();
    program["records"] = tensors_.memory().size();
  }

  const std::vector<c10::Storage>& memory() const { return tensors_.memory(); }

 private:
  template <class F>
  static Json named(const std::string& what, F&& write) {
    try {
      return write();
    } catch (Error& error) {
      error.message = what + ": " + error.message;
      throw;
    }
  }

  Json classes() {
    const ClassCode code = print_classes(types_.classes());
    Json constants = Json::array();
    for (const at::Tensor& constant : code.constants) constants.push_back(tensors_.add(constant));
    return {{"sources", code.sources}, {"constants", std::move(constants)}, {"version", code.version}};
  }

  Json method(const Method& method) {
    Json parameters = Json::array();
    for (const Parameter& parameter : method.parameters) {
      Json out{{"name", parameter.name}, {"type", types_.add(parameter.type)}};
      if (parameter.default_value) out["default"] = Json::array({values_.write(*parameter.default_value)});
      parameters.push_back(std::move(out));
    }
    Json out{{"name", method.name}, {"parameters", std::move(parameters)}};
    if (method.result) out["result"] = types_.add(method.result);
    if (!method.contract.empty()) out["contract"] = write_contract(method.contract, values_);
    if (method.graph) {
      out["graph"] = graphs_.write(*method.graph);
    } else if (method.unsupported) {
      const Error& why = *method.unsupported;
      out["unsupported"] = {static_cast<int>(why.code), why.message,       why.place.op, why.place.node,
                            why.place.source,           why.place.argument};
    }
    return out;
  }

  TypeWriter types_;
  TensorWriter tensors_;
  ValueWriter values_{types_, tensors_};
  GraphWriter graphs_{types_, values_};
};

// A file beside the one that it is to be, which it becomes at the end.
class NewFile {
 public:
  explicit NewFile(const std::string& path) : path_(path), beside_(path + ".new." + std::to_string(::getpid())) {
    file_.open(beside_, std::ios::binary | std::ios::trunc);
    if (!file_) fail();
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile() {
    if (!done_) ::unlink(beside_.c_str());
  }

  size_t write(const void* data, size_t size) {
    file_.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
    if (!file_) fail();
    return size;
  }
  void finish() {
    file_.close();
    if (!file_ || std::rename(beside_.c_str(), path_.c_str()) != 0) fail();
    done_ = true;
  }

 private:
  [[noreturn]] void fail() const {
    throw Error(ErrorCode::kIo, "cannot write \"" + path_ + "\": " + std::strerror(errno));
  }

  const std::string path_, beside_;
  std::ofstream file_;
  bool done_ = false;
};

void write_archive(const std::string& path, const Json& manifest, const Json& program, const Json& plans,
                   const std::vector<c10::Storage>& memory) {
  NewFile file(path);
  caffe2::serialize::PyTorchStreamWriter archive([&](const void* data, size_t size) { return file.write(data, size); });
  const auto write_json = [&](const char* name, const Json& json) {
    const std::string text = dumped(json);
    archive.writeRecord(name, text.data(), text.size());
  };
  write_json(kManifest, manifest);
  write_json(kProgram, program);
  write_json(kPlans, plans);
  for (size_t i = 0; i < memory.size(); ++i)
    archive.writeRecord(memory_record(i), memory[i].data(), memory[i].nbytes());
  archive.writeEndOfFile();
  file.finish();
}

}  // namespace

void save_planned(const std::string& path, const ProgramView& view, const SavedPlans& saved) {
  Writer writer;
  Json program = writer.program(view);
  const Json plans = writer.plans(saved);
  writer.add_tables(program);
  const Json manifest{
      {"format", kFormat}, {"stator", saved.maker.stator}, {"torch", saved.maker.torch}, {"cpu", saved.maker.cpu}};
  write_archive(path, manifest, program, plans, writer.memory());
}

}  // namespace stator
