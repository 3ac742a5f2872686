// Classes, interfaces and enumerations of a model as source, as TorchScript's own archives hold them.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/jit_type.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace stator {

struct ClassCode {
  std::map<std::string, std::string> sources;  // by the namespace of what stands in it
  std::vector<at::Tensor> constants;           // that it speaks of by number
  uint64_t version = 0;                        // of the language
};

// Those, and all that they use. Throws Error(kUnsupported) for what only a program in C++ or Python can define.
ClassCode print_classes(const std::vector<c10::NamedTypePtr>& classes);

// Compiles a class when it is asked for.
class ClassLoader {
 public:
  explicit ClassLoader(ClassCode code);
  ~ClassLoader();
  ClassLoader(const ClassLoader&) = delete;
  ClassLoader& operator=(const ClassLoader&) = delete;

  // Those of operator libraries are found too. Throws Error(kBadModel or kUnsupported).
  c10::TypePtr find(const std::string& name) const;
  // Classes live as long as this.
  std::shared_ptr<const void> owner() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stator
