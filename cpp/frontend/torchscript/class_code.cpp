#include "frontend/torchscript/class_code.h"

#include <ATen/core/class_type.h>
#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/serialization/import_source.h>
#include <torch/csrc/jit/serialization/python_print.h>

#include <algorithm>
#include <utility>

#include "frontend/torchscript/bound_class.h"
#include "graph/error.h"

namespace stator {
namespace {

namespace jit = torch::jit;

class Printer {
 public:
  ClassCode print(const std::vector<c10::NamedTypePtr>& classes) {
    for (const c10::NamedTypePtr& each : classes) add(each);
    for (size_t i = 0; i < used_.size(); ++i) add(used_[i]);
    ClassCode code;
    for (auto& [name, printer] : printers_) {
      code.sources[name] = printer.str();
      code.version = std::max(code.version, printer.minVersion());
    }
    for (const c10::IValue& constant : constants_) {
      if (!constant.isTensor())
        throw Error(ErrorCode::kUnsupported,
                    "a class with a constant of type " + constant.type()->annotation_str() + " cannot be saved");
      code.constants.push_back(constant.toTensor());
    }
    return code;
  }

 private:
  void add(const c10::NamedTypePtr& type) {
    const std::string name = type->name().value().qualifiedName();
    if (is_bound_class(name) || std::find(done_.begin(), done_.end(), type) != done_.end()) return;
    done_.push_back(type);
    const auto* class_type = type->castRaw<c10::ClassType>();
    if (class_type && class_type->is_module())
      throw Error(ErrorCode::kUnsupported, "an object that holds the module " + name + " cannot be saved");
    auto found = printers_.try_emplace(type->name()->prefix(), constants_, used_).first;
    found->second.printNamedType(type);
  }

  std::vector<c10::IValue> constants_;
  jit::PrintDepsTable used_;
  std::map<std::string, jit::PythonPrint> printers_;  // by namespace
  std::vector<c10::NamedTypePtr> done_;
};

}  // namespace

ClassCode print_classes(const std::vector<c10::NamedTypePtr>& classes) { return Printer().print(classes); }

struct ClassLoader::State {
  explicit State(ClassCode given)
      : code(std::move(given)),
        constants(code.constants.begin(), code.constants.end()),
        importer(unit, &constants, [this](const std::string& name) { return source(name); }, code.version) {}

  std::shared_ptr<jit::Source> source(const std::string& name) const {
    auto found = code.sources.find(name);
    return found == code.sources.end() ? nullptr : std::make_shared<jit::Source>(found->second, name);
  }

  const ClassCode code;
  const std::vector<c10::IValue> constants;
  const std::shared_ptr<jit::CompilationUnit> unit = std::make_shared<jit::CompilationUnit>();
  const jit::SourceImporter importer;
};

ClassLoader::ClassLoader(ClassCode code) : state_(std::make_unique<State>(std::move(code))) {}
ClassLoader::~ClassLoader() = default;

c10::TypePtr ClassLoader::find(const std::string& name) const {
  try {
    if (is_bound_class(name)) return bound_class(name);
    if (c10::TypePtr found = state_->importer.loadType(c10::QualifiedName(name))) return found;
  } catch (const std::exception& error) {
    if (const auto* ours = dynamic_cast<const Error*>(&error)) throw *ours;
    throw Error(ErrorCode::kBadModel, "the class " + name + " cannot be compiled: " + error.what());
  }
  throw Error(ErrorCode::kBadModel, "there is no class " + name);
}

std::shared_ptr<const void> ClassLoader::owner() const { return state_->unit; }

}  // namespace stator
