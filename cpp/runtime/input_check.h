// Holds inputs against what an exported program expects of them.
#pragma once

#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

#include "graph/input_contract.h"
#include "graph/program.h"

namespace stator {

class InputCheck {
 public:
  InputCheck(InputContract contract, const std::vector<Parameter>& parameters);

  InputCheck(const InputCheck&) = delete;
  InputCheck& operator=(const InputCheck&) = delete;

  const InputContract& contract() const { return contract_; }
  // The tensor that is the parameter itself; NULL if there is none such.
  const InputLeaf* tensor(size_t parameter) const;

  // What can be said of one input alone: containers, dtypes, numbers of dimensions, fixed sizes, constants.
  // Throws Error(kTypeMismatch, kDtypeMismatch, kShapeMismatch or kInvalidArgument).
  void check(size_t parameter, const c10::IValue& value) const;

  // That sizes which the program calls by one name are equal, that they are in their ranges, and what else has to hold between them.
  // `accepted` has the sizes that were right the last time, and gets those that are right now. Throws Error(kShapeMismatch).
  void check_together(const std::vector<const c10::IValue*>& inputs, std::vector<int64_t>& accepted) const;

 private:
  // A size that has a name, or is computed of such. `dimension` -1: the number that the leaf itself is.
  struct Named {
    size_t leaf;
    int64_t dimension;
    const SizeExpression* expression;
    size_t symbol;  // in symbols_, if the expression is one
  };
  struct Range {
    std::string symbol;
    SizeRange range;
  };

  std::string place(size_t parameter, const std::vector<c10::IValue>& path) const;
  void check_container(const InputContainer& container, const c10::IValue& got) const;
  void check_tensor(const InputLeaf& leaf, const c10::IValue& value) const;
  void add_named(size_t leaf, int64_t dimension, const SizeExpression& expression);
  int64_t size_of(const Named& named, const std::vector<const c10::IValue*>& inputs) const;
  [[noreturn]] void refuse(const Named& named, const std::vector<const c10::IValue*>& inputs,
                           const std::string& expected) const;
  Symbols check_plain(const std::vector<const c10::IValue*>& inputs) const;
  void check_computed(const std::vector<const c10::IValue*>& inputs, Symbols& symbols) const;
  void check_conditions(const Symbols& symbols) const;

  const InputContract contract_;
  std::vector<std::string> names_;  // of parameters
  std::vector<Range> symbols_;
  std::vector<Named> plain_;     // symbols
  std::vector<Named> computed_;  // other expressions
};

}  // namespace stator
