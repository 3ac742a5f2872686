// einsum of two tensors as one product: rows are a dimension of the left operand alone, columns one of the right operand alone, and what
// else the result has are matrices.
#include <algorithm>
#include <cctype>
#include <string>

#include "plan/collapse.h"
#include "plan/product.h"

namespace stator {
namespace {

// "ij,jk->ik": a letter for every dimension.
struct Equation {
  std::string a, b, c;
};

// No letter twice in one tensor, and nothing but letters.
bool is_plain_term(const std::string& letters) {
  for (size_t i = 0; i < letters.size(); ++i) {
    if (!std::isalpha(static_cast<unsigned char>(letters[i])) || letters.find(letters[i], i + 1) != letters.npos)
      return false;
  }
  return true;
}

std::optional<Equation> parsed(std::string text) {
  std::erase(text, ' ');
  const size_t comma = text.find(','), arrow = text.find("->");
  if (comma == text.npos || arrow == text.npos || comma > arrow) return std::nullopt;
  Equation equation{text.substr(0, comma), text.substr(comma + 1, arrow - comma - 1), text.substr(arrow + 2)};
  if (!is_plain_term(equation.a) || !is_plain_term(equation.b) || !is_plain_term(equation.c)) return std::nullopt;
  return equation;
}

struct Named {
  const std::string& letters;
  const TensorMeta& meta;

  bool has(char letter) const { return letters.find(letter) != letters.npos; }
  Run run_of(char letter) const {
    const size_t d = letters.find(letter);
    return d == letters.npos ? Run{1, 0} : Run{meta.sizes[d], meta.strides[d]};
  }
  // Some dimensions as one, the last one innermost; nullopt if they are none.
  std::optional<Run> run_of(const std::string& some) const {
    Run all;
    for (auto letter = some.rbegin(); letter != some.rend(); ++letter) {
      const Run one = run_of(*letter);
      if (one.size == 1) continue;
      if (all.size == 1) all.stride = one.stride;
      if (all.size != 1 && one.stride != all.stride * all.size) return std::nullopt;
      all.size *= one.size;
    }
    return all;
  }
};

// Every letter of `one` is the result's or the other operand's, where it has the same size: nothing is broadcast or summed up alone.
bool fits(const Named& one, const Named& other, const Named& made) {
  return std::all_of(one.letters.begin(), one.letters.end(), [&](char letter) {
    const int64_t size = one.run_of(letter).size;
    if (other.has(letter) && other.run_of(letter).size != size) return false;
    return made.has(letter) || other.has(letter);
  });
}

// The result's last one that only one operand has; 0 if there is none.
char last_of_one(const Named& made, const Named& one, const Named& other) {
  const auto letter = std::find_if(made.letters.rbegin(), made.letters.rend(),
                                   [&](char letter) { return one.has(letter) && !other.has(letter); });
  return letter == made.letters.rend() ? '\0' : *letter;
}

void append(Matrices& matrices, Run run) {
  matrices.sizes.push_back(run.size);
  matrices.strides.push_back(run.stride);
}

std::optional<Product> product_of(const TensorView& a_view, const Named& a, const TensorView& b_view, const Named& b,
                                  const Named& c) {
  std::string summed = a.letters;
  std::erase_if(summed, [&](char letter) { return c.has(letter); });
  const auto a_depth = a.run_of(summed), b_depth = b.run_of(summed);
  if (!a_depth || !b_depth) return std::nullopt;
  Product product{a_view, b_view, {}, {}, {}, {}, {}};
  const auto append_of_result = [&](char letter) {
    append(product.c, c.run_of(letter));
    product.c_dims.push_back(c.has(letter) ? static_cast<int64_t>(c.letters.find(letter)) : 0);
  };
  const char row = last_of_one(c, a, b), column = last_of_one(c, b, a);
  for (char letter : c.letters) {
    if (letter == row || letter == column) continue;
    append(product.a, a.run_of(letter));
    append(product.b, b.run_of(letter));
    append_of_result(letter);
  }
  append(product.a, a.run_of(row));
  append(product.a, *a_depth);
  append(product.b, *b_depth);
  append(product.b, b.run_of(column));
  append_of_result(row);
  append_of_result(column);
  return product;
}

// An operand's elements for each of the result's.
TensorView over(TensorView view, const Named& named, const Named& made) {
  view.meta.sizes = made.meta.sizes;
  view.meta.strides.clear();
  for (char letter : made.letters) view.meta.strides.push_back(named.run_of(letter).stride);
  return view;
}

// Where nothing is summed up it is no product of matrices.
bool bind_outer(Binding& binding, const TensorView& a, const TensorView& b, const TensorMeta& result) {
  TileExpression expression(result.sizes);
  const TensorView to = binding.result(0, result.dtype, result.sizes, result.strides);
  expression.store(expression.op(TileOpcode::kMul, expression.load(a), expression.load(b)), to);
  binding.run(std::move(expression));
  return true;
}

bool is_floats(const TensorView& view) { return view.meta.dtype == at::kFloat && view.meta.numel() > 0; }

// (equation, tensors, path)
bool bind_einsum(Binding& binding) {
  const c10::IValue* text = binding.known(0);
  const auto operands = binding.tensor_list(1);
  const TensorMeta* result = binding.observed(0);
  if (!text || !operands || operands->size() != 2 || !result) return false;
  const TensorView &a = operands->front(), &b = operands->back();
  const auto equation = parsed(text->toStringRef());
  if (!equation || !is_floats(a) || !is_floats(b)) return false;
  const Named left{equation->a, a.meta}, right{equation->b, b.meta}, made{equation->c, *result};
  if (!fits(left, right, made) || !fits(right, left, made)) return false;
  if (std::all_of(left.letters.begin(), left.letters.end(), [&](char letter) { return made.has(letter); }))
    return bind_outer(binding, over(a, left, made), over(b, right, made), *result);
  auto product = product_of(a, left, b, right, made);
  return product && bind_product(binding, *std::move(product), *result);
}

const BinderRegistration kEinsum("aten::einsum", bind_einsum);

}  // namespace
}  // namespace stator
