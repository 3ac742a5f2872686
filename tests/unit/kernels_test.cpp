// Tile programs against ATen, in each table that this CPU can run.
#include <ATen/ATen.h>
#include <ATen/Version.h>
#include <c10/util/ParallelGuard.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "plan/tile_expression.h"
#include "usable_tables.h"

namespace stator {
namespace {

// Numbers that go wrong in kernels, among ordinary ones.
at::Tensor numbers(at::IntArrayRef sizes, at::ScalarType dtype, int64_t shift = 0) {
  using Limits = std::numeric_limits<float>;
  const double special[] = {0.0,
                            -0.0,
                            1.0,
                            Limits::infinity(),
                            -Limits::infinity(),
                            Limits::quiet_NaN(),
                            0.5,
                            -0.75,
                            1e-30,
                            88.8f,
                            -88.8f,
                            104.0f,
                            -104.0f,
                            1e-10f,
                            -3.5f};
  at::Tensor out = at::randn(sizes, at::kDouble) * 4;
  auto* data = out.mutable_data_ptr<double>();
  for (int64_t i = 0; i < out.numel(); i += 2)
    data[i] = special[static_cast<size_t>(i / 2 + shift * (i / 32 + 1)) % std::size(special)];
  if (c10::isIntegralType(dtype, true)) out = at::nan_to_num(out, 3, 7, -7).clamp(-100, 100);
  return out.to(dtype);
}

class Tiles : public testing::TestWithParam<const KernelTable*> {
 protected:
  using Node = TileExpression::Node;

  struct Operand {
    at::Tensor tensor;
    BufferId buffer;
  };

  TensorView view(const at::Tensor& tensor) {
    operands_.push_back({tensor, static_cast<BufferId>(operands_.size())});
    return {operands_.back().buffer, 0, TensorMeta::of(tensor)};
  }

  void run(const TileExpression& expression) {
    const auto specification = expression.compile();
    ASSERT_NE(specification, nullptr);
    std::vector<void*> addresses;
    for (const auto* views : {&specification->read, &specification->written}) {
      for (const TensorView& v : *views)
        addresses.push_back(static_cast<char*>(operands_[v.buffer].tensor.data_ptr()) + v.offset);
    }
    EXPECT_TRUE(GetParam()->tile->run(&specification->program, addresses.data()));
    std::vector<at::Tensor> whole;
    for (const TensorView& v : specification->written) whole.push_back(operands_[v.buffer].tensor.clone());
    TileProgram in_parts = specification->program;
    in_parts.parts = 3;
    c10::ParallelGuard one_thread(true);
    EXPECT_TRUE(GetParam()->tile->run(&in_parts, addresses.data()));
    for (size_t i = 0; i < whole.size(); ++i) {
      const at::Tensor& made = operands_[specification->written[i].buffer].tensor;
      EXPECT_TRUE(at::allclose(whole[i], made, 0, 0, true)) << "in parts";
    }
  }

  // A result like `wanted`, with something behind it that must stay.
  at::Tensor result_like(const at::Tensor& wanted) {
    const int64_t span = wanted.numel() == 0 ? 0 : TensorMeta::of(wanted).bytes() / wanted.element_size();
    guarded_ = at::zeros({span + 8}, wanted.options()).fill_(1);
    return guarded_.as_strided(wanted.sizes(), wanted.strides());
  }
  void expect_same(const at::Tensor& wanted, const at::Tensor& made, double tolerance) {
    ASSERT_TRUE(at::allclose(made.to(at::kDouble), wanted.to(at::kDouble), tolerance, tolerance, true))
        << wanted << "\nbut made\n"
        << made;
    EXPECT_TRUE(guarded_.slice(0, guarded_.numel() - 8).to(at::kDouble).eq(1).all().item<bool>())
        << "wrote behind the end";
    operands_.clear();
  }

  std::vector<Operand> operands_;
  at::Tensor guarded_;
};

struct Unary {
  TileOpcode code;
  at::Tensor (*aten)(const at::Tensor&);
};

const Unary kUnary[] = {
    {TileOpcode::kNeg, [](const at::Tensor& a) { return at::neg(a); }},
    {TileOpcode::kAbs, [](const at::Tensor& a) { return at::abs(a); }},
    {TileOpcode::kExp, [](const at::Tensor& a) { return at::exp(a); }},
    {TileOpcode::kExp2, [](const at::Tensor& a) { return at::exp2(a); }},
    {TileOpcode::kExpm1, [](const at::Tensor& a) { return at::expm1(a); }},
    {TileOpcode::kLog, [](const at::Tensor& a) { return at::log(a); }},
    {TileOpcode::kLog2, [](const at::Tensor& a) { return at::log2(a); }},
    {TileOpcode::kLog10, [](const at::Tensor& a) { return at::log10(a); }},
    {TileOpcode::kLog1p, [](const at::Tensor& a) { return at::log1p(a); }},
    {TileOpcode::kSqrt, [](const at::Tensor& a) { return at::sqrt(a); }},
    {TileOpcode::kRsqrt, [](const at::Tensor& a) { return at::rsqrt(a); }},
    {TileOpcode::kReciprocal, [](const at::Tensor& a) { return at::reciprocal(a); }},
    {TileOpcode::kSin, [](const at::Tensor& a) { return at::sin(a); }},
    {TileOpcode::kCos, [](const at::Tensor& a) { return at::cos(a); }},
    {TileOpcode::kTan, [](const at::Tensor& a) { return at::tan(a); }},
    {TileOpcode::kAsin, [](const at::Tensor& a) { return at::asin(a); }},
    {TileOpcode::kAcos, [](const at::Tensor& a) { return at::acos(a); }},
    {TileOpcode::kAtan, [](const at::Tensor& a) { return at::atan(a); }},
    {TileOpcode::kSinh, [](const at::Tensor& a) { return at::sinh(a); }},
    {TileOpcode::kCosh, [](const at::Tensor& a) { return at::cosh(a); }},
    {TileOpcode::kAsinh, [](const at::Tensor& a) { return at::asinh(a); }},
    {TileOpcode::kAcosh, [](const at::Tensor& a) { return at::acosh(a); }},
    {TileOpcode::kAtanh, [](const at::Tensor& a) { return at::atanh(a); }},
    {TileOpcode::kLgamma, [](const at::Tensor& a) { return at::lgamma(a); }},
    {TileOpcode::kTanh, [](const at::Tensor& a) { return at::tanh(a); }},
    {TileOpcode::kSigmoid, [](const at::Tensor& a) { return at::sigmoid(a); }},
    {TileOpcode::kRelu, [](const at::Tensor& a) { return at::relu(a); }},
    {TileOpcode::kFloor, [](const at::Tensor& a) { return at::floor(a); }},
    {TileOpcode::kCeil, [](const at::Tensor& a) { return at::ceil(a); }},
    {TileOpcode::kRound, [](const at::Tensor& a) { return at::round(a); }},
    {TileOpcode::kTrunc, [](const at::Tensor& a) { return at::trunc(a); }},
    {TileOpcode::kFrac, [](const at::Tensor& a) { return at::frac(a); }},
    {TileOpcode::kSign, [](const at::Tensor& a) { return at::sign(a); }},
    {TileOpcode::kSquare, [](const at::Tensor& a) { return at::square(a); }},
    {TileOpcode::kErf, [](const at::Tensor& a) { return at::erf(a); }},
    {TileOpcode::kErfc, [](const at::Tensor& a) { return at::erfc(a); }},
    {TileOpcode::kSilu, [](const at::Tensor& a) { return at::silu(a); }},
    // In double: with AVX-512, oneDNN's of float32 is NaN for infinities, where LibTorch's own for a single element is not.
    {TileOpcode::kGelu, [](const at::Tensor& a) { return at::gelu(a.to(at::kDouble)).to(a.scalar_type()); }},
    {TileOpcode::kGeluTanh, [](const at::Tensor& a) { return at::gelu(a, "tanh"); }},
    {TileOpcode::kHardswish, [](const at::Tensor& a) { return at::hardswish(a); }},
    {TileOpcode::kHardsigmoid, [](const at::Tensor& a) { return at::hardsigmoid(a); }},
    {TileOpcode::kMish, [](const at::Tensor& a) { return at::mish(a); }},
};

TEST_P(Tiles, unary_operators_are_atens) {
  for (const Unary& unary : kUnary) {
    for (at::ScalarType dtype : {at::kFloat, at::kDouble}) {
      for (int64_t n : {0, 1, 2, 7, 8, 9, 31, 33, 600}) {
        const at::Tensor x = numbers({n}, dtype), wanted = unary.aten(x), made = result_like(wanted);
        TileExpression expression(x.sizes());
        expression.store(expression.op(unary.code, expression.load(view(x))), view(made));
        SCOPED_TRACE(static_cast<int>(unary.code));
        run(expression);
        expect_same(wanted, made, dtype == at::kFloat ? 2e-6 : 1e-9);
      }
    }
  }
}

// Numbers of either sign and every size, denormal and infinite ones too, more of them where exp() is neither 0 nor infinite.
at::Tensor numbers_of_all_sizes() {
  const at::Tensor powers = at::arange(-149, 128, at::kDouble).exp2(),
                   ones = at::tensor({1.0, -1.0, 1.37, -1.9}, at::kDouble);
  return at::cat({at::outer(powers, ones).flatten(), at::linspace(-106, 90, 20011, at::kDouble),
                  at::linspace(-2, 2, 4001, at::kDouble), at::tensor({0.0, -0.0, 1.0 / 0.0, -1.0 / 0.0}, at::kDouble)})
      .to(at::kFloat);
}

TEST_P(Tiles, exponentials_keep_the_digits_of_numbers_of_all_sizes) {
  struct Exponential : Unary {
    double relative, absolute;
  };
  constexpr double kSmallest = 1e-45, kDenormal = 2e-43;
  // As ATen has them, sigmoid and SiLU are 0 where exp(-x) is infinite.
  constexpr double kWhereInfinite = 4e-37;
  const Exponential exponentials[] = {
      {{TileOpcode::kExp, [](const at::Tensor& a) { return at::exp(a); }}, 4e-7, kDenormal},
      {{TileOpcode::kExpm1, [](const at::Tensor& a) { return at::expm1(a); }}, 4e-7, kDenormal},
      {{TileOpcode::kLog1p, [](const at::Tensor& a) { return at::log1p(a); }}, 4e-7, kDenormal},
      {{TileOpcode::kTanh, [](const at::Tensor& a) { return at::tanh(a); }}, 2.5e-7, kSmallest},
      {{TileOpcode::kSigmoid, [](const at::Tensor& a) { return at::sigmoid(a); }}, 4e-7, kWhereInfinite},
      {{TileOpcode::kSilu, [](const at::Tensor& a) { return at::silu(a); }}, 4e-7, kWhereInfinite},
      {{TileOpcode::kMish, [](const at::Tensor& a) { return at::mish(a); }}, 4e-7, kDenormal},
  };
  const at::Tensor x = numbers_of_all_sizes();
  for (const Exponential& exponential : exponentials) {
    SCOPED_TRACE(static_cast<int>(exponential.code));
    const at::Tensor made = result_like(x), wanted = exponential.aten(x.to(at::kDouble)).to(at::kFloat);
    TileExpression expression(x.sizes());
    expression.store(expression.op(exponential.code, expression.load(view(x))), view(made));
    run(expression);
    const at::Tensor right =
        at::isclose(made.to(at::kDouble), wanted.to(at::kDouble), exponential.relative, exponential.absolute, true);
    EXPECT_TRUE(right.all().item<bool>()) << x.masked_select(right.logical_not());
    const at::Tensor zeros = wanted.eq(0).logical_and(x.eq(0));
    EXPECT_TRUE(at::equal(wanted.masked_select(zeros).signbit(), made.masked_select(zeros).signbit()));
    operands_.clear();
  }
}

struct Binary {
  TileOpcode code;
  at::Tensor (*aten)(const at::Tensor&, const at::Tensor&);
  bool real;
};

const Binary kBinary[] = {
    {TileOpcode::kAdd, [](const at::Tensor& a, const at::Tensor& b) { return at::add(a, b); }, false},
    {TileOpcode::kSub, [](const at::Tensor& a, const at::Tensor& b) { return at::sub(a, b); }, false},
    {TileOpcode::kMul, [](const at::Tensor& a, const at::Tensor& b) { return at::mul(a, b); }, false},
    {TileOpcode::kDiv, [](const at::Tensor& a, const at::Tensor& b) { return at::div(a, b); }, true},
    {TileOpcode::kMax, [](const at::Tensor& a, const at::Tensor& b) { return at::maximum(a, b); }, false},
    {TileOpcode::kMin, [](const at::Tensor& a, const at::Tensor& b) { return at::minimum(a, b); }, false},
    {TileOpcode::kPow, [](const at::Tensor& a, const at::Tensor& b) { return at::pow(a, b); }, true},
    {TileOpcode::kAtan2, [](const at::Tensor& a, const at::Tensor& b) { return at::atan2(a, b); }, true},
    {TileOpcode::kHypot, [](const at::Tensor& a, const at::Tensor& b) { return at::hypot(a, b); }, true},
    {TileOpcode::kCopysign, [](const at::Tensor& a, const at::Tensor& b) { return at::copysign(a, b); }, true},
    {TileOpcode::kDivFloor, [](const at::Tensor& a, const at::Tensor& b) { return at::div(a, b, "floor"); }, true},
    {TileOpcode::kRemainder, [](const at::Tensor& a, const at::Tensor& b) { return at::remainder(a, b); }, true},
    {TileOpcode::kEqual, [](const at::Tensor& a, const at::Tensor& b) { return at::eq(a, b); }, false},
    {TileOpcode::kNotEqual, [](const at::Tensor& a, const at::Tensor& b) { return at::ne(a, b); }, false},
    {TileOpcode::kLess, [](const at::Tensor& a, const at::Tensor& b) { return at::lt(a, b); }, false},
    {TileOpcode::kLessEqual, [](const at::Tensor& a, const at::Tensor& b) { return at::le(a, b); }, false},
    {TileOpcode::kGreater, [](const at::Tensor& a, const at::Tensor& b) { return at::gt(a, b); }, false},
    {TileOpcode::kGreaterEqual, [](const at::Tensor& a, const at::Tensor& b) { return at::ge(a, b); }, false},
};

// How two inputs meet.
std::vector<std::pair<at::Tensor, at::Tensor>> meetings(at::ScalarType dtype) {
  std::vector<std::pair<at::Tensor, at::Tensor>> out;
  const auto add = [&](at::Tensor a, at::Tensor b) { out.emplace_back(std::move(a), std::move(b)); };
  for (int64_t n : {1, 5, 8, 33, 700}) {
    add(numbers({n}, dtype), numbers({n}, dtype, 1));
    add(numbers({n}, dtype), numbers({}, dtype, 2));
    add(numbers({}, dtype, 3), numbers({n}, dtype));
    add(numbers({3, n}, dtype), numbers({n}, dtype, 1));
    add(numbers({n, 3}, dtype), numbers({n, 1}, dtype, 1));
    add(numbers({2, 1, n}, dtype), numbers({4, 1}, dtype, 1));
    add(numbers({n, 3}, dtype).t(), numbers({3, n}, dtype, 1));
    add(numbers({3, 2 * n}, dtype).slice(1, 0, 2 * n, 2), numbers({3, n}, dtype, 1));
  }
  add(numbers({}, dtype), numbers({}, dtype, 1));
  add(numbers({2, 3, 4, 5}, dtype).permute({3, 1, 0, 2}), numbers({3, 1, 4}, dtype));
  return out;
}

TEST_P(Tiles, binary_operators_are_atens_however_inputs_meet) {
  for (const Binary& binary : kBinary) {
    for (at::ScalarType dtype : {at::kFloat, at::kDouble, at::kLong, at::kInt}) {
      if (binary.real && !c10::isFloatingType(dtype)) continue;
      for (const auto& [a, b] : meetings(dtype)) {
        const at::Tensor wanted = binary.aten(a, b), made = result_like(wanted);
        TileExpression expression(wanted.sizes());
        const Node x = expression.load(view(a)), y = expression.load(view(b));
        expression.store(expression.op(binary.code, x, y), view(made));
        SCOPED_TRACE(static_cast<int>(binary.code));
        run(expression);
        expect_same(wanted, made, dtype == at::kDouble ? 1e-9 : 2e-6);
        if (HasFatalFailure()) return;
      }
    }
  }
}

const Binary kOfIntegers[] = {
    {TileOpcode::kDiv, [](const at::Tensor& a, const at::Tensor& b) { return at::div(a, b, "trunc"); }, false},
    {TileOpcode::kDivFloor, [](const at::Tensor& a, const at::Tensor& b) { return at::div(a, b, "floor"); }, false},
    {TileOpcode::kFmod, [](const at::Tensor& a, const at::Tensor& b) { return at::fmod(a, b); }, false},
    {TileOpcode::kRemainder, [](const at::Tensor& a, const at::Tensor& b) { return at::remainder(a, b); }, false},
    {TileOpcode::kBitAnd, [](const at::Tensor& a, const at::Tensor& b) { return at::bitwise_and(a, b); }, false},
    {TileOpcode::kBitOr, [](const at::Tensor& a, const at::Tensor& b) { return at::bitwise_or(a, b); }, false},
    {TileOpcode::kBitXor, [](const at::Tensor& a, const at::Tensor& b) { return at::bitwise_xor(a, b); }, false},
    {TileOpcode::kShiftLeft, [](const at::Tensor& a, const at::Tensor& b) { return at::bitwise_left_shift(a, b); },
     false},
    {TileOpcode::kShiftRight, [](const at::Tensor& a, const at::Tensor& b) { return at::bitwise_right_shift(a, b); },
     false},
};

TEST_P(Tiles, operators_on_integers_are_atens) {
  const at::Tensor a = at::tensor({0, 1, 7, -7, 100, -100, -128, 127, 5, -5, 8, 64}, at::kLong).unsqueeze(1);
  const at::Tensor b = at::tensor({1, -1, 2, -2, 3, -3, 7, 63, 64, -128, 100}, at::kLong);
  for (const Binary& binary : kOfIntegers) {
    for (at::ScalarType dtype : {at::kLong, at::kInt, at::kShort, at::kChar}) {
      const at::Tensor x = a.to(dtype), y = b.to(dtype);
      const at::Tensor wanted = binary.aten(x, y), made = result_like(wanted);
      TileExpression expression(wanted.sizes());
      const Node result = expression.op(binary.code, expression.load(view(x)), expression.load(view(y)));
      expression.store(expression.rounded(result, dtype), view(made));
      SCOPED_TRACE(std::to_string(static_cast<int>(binary.code)) + c10::toString(dtype));
      run(expression);
      expect_same(wanted, made, 0);
    }
  }
}

TEST_P(Tiles, operators_that_follow_one_another_are_one_if_nothing_else_wants_the_first) {
  using O = TileOpcode;
  const auto op = [](O code, const at::Tensor& x, const at::Tensor& y) {
    return code == O::kAdd ? x + y : code == O::kSub ? x - y : x * y;
  };
  for (at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    const at::Tensor a = numbers({3, 250}, dtype), b = numbers({250}, dtype, 1), c = numbers({3, 250}, dtype, 2);
    for (const auto& [first, second] :
         {std::pair(O::kAdd, O::kMul), {O::kSub, O::kMul}, {O::kMul, O::kMul}, {O::kAdd, O::kAdd}}) {
      for (bool turned : {false, true}) {
        const at::Tensor between = op(first, a, b), wanted = turned ? op(second, c, between) : op(second, between, c);
        const at::Tensor made = result_like(wanted), kept = at::zeros_like(between);
        TileExpression one(made.sizes()), two(made.sizes());
        for (TileExpression* expression : {&one, &two}) {
          const Node x = expression->op(first, expression->load(view(a)), expression->load(view(b)));
          const Node z = expression->load(view(c));
          expression->store(expression->op(second, turned ? z : x, turned ? x : z), view(made));
          if (expression == &two) expression->store(x, view(kept));
        }
        EXPECT_EQ(one.compile()->ops.size(), 1u);
        EXPECT_EQ(two.compile()->ops.size(), 2u);
        run(two);
        EXPECT_TRUE(at::allclose(between, kept, 0, 0, true));
        run(one);
        expect_same(wanted, made, 0);
      }
    }
  }
}

// Rows of 24 and of 7: what is added to each of them is put into a tile once, for as many rows as fit, also where several threads begin in the middle.
TEST_P(Tiles, a_row_that_meets_all_rows_is_filled_once) {
  for (at::ScalarType dtype : {at::kFloat, at::kDouble, at::kBFloat16, at::kInt}) {
    for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{300, 24}, {40, 5, 7}, {4000, 7}}) {
      const at::Tensor x = numbers(sizes, dtype), row = numbers({sizes.back()}, dtype, 1);
      const at::Tensor plane = numbers(at::IntArrayRef(sizes).slice(1), dtype, 2);
      const at::Tensor wanted = (x + row) * plane;
      const at::Tensor made = result_like(at::cat({wanted, wanted}, -1)).narrow(-1, 0, sizes.back());
      TileExpression expression(wanted.sizes());
      const Node sum = expression.rounded(
          expression.op(TileOpcode::kAdd, expression.load(view(x)), expression.load(view(row))), dtype);
      const Node product = expression.op(TileOpcode::kMul, sum, expression.load(view(plane)));
      expression.store(expression.rounded(product, dtype), view(made));
      const auto program = expression.compile();
      ASSERT_NE(program, nullptr);
      EXPECT_EQ(program->program.tile_elements % sizes.back(), 0);
      EXPECT_EQ(
          std::count_if(program->loads.begin(), program->loads.end(), [](const auto& walk) { return walk.repeats; }),
          2);
      run(expression);
      expect_same(wanted, made, 1e-6);
    }
  }
}

// Which zero it is, and NaN. x is one element for all as well.
TEST_P(Tiles, clamps_are_atens_to_the_bit) {
  const auto with_sign = [](const at::Tensor& x) {
    return at::stack({x.to(at::kDouble), at::signbit(x).logical_and(~x.isnan())});
  };
  for (at::ScalarType dtype : {at::kFloat, at::kDouble, at::kLong}) {
    for (const at::Tensor& x : {numbers({700}, dtype), numbers({5}, dtype, 1), numbers({}, dtype, 1).expand({40})}) {
      for (const auto& [least, most] : {std::pair(0.0, 6.0), {-3.0, -0.0}, {2.0, -2.0}}) {
        const auto expect = [&](const at::Tensor& clamped, TileOpcode code, auto... bounds) {
          const at::Tensor wanted = clamped.to(dtype), made = result_like(wanted);
          TileExpression expression(x.sizes());
          const Node in = expression.load(view(x));
          expression.store(expression.op(code, in, expression.number(bounds, *tile_type(dtype))...), view(made));
          run(expression);
          expect_same(with_sign(wanted), with_sign(made), 0);
        };
        expect(at::clamp(x.contiguous(), least, most), TileOpcode::kClamp, least, most);
        expect(at::clamp_min(x.contiguous(), least), TileOpcode::kClampMin, least);
        expect(at::clamp_max(x.contiguous(), most), TileOpcode::kClampMax, most);
      }
    }
  }
}

constexpr at::ScalarType kAll[] = {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf, at::kBool,
                                   at::kLong,  at::kInt,    at::kShort,    at::kChar, at::kByte};

TEST_P(Tiles, casts_are_atens) {
  for (at::ScalarType from : kAll) {
    for (at::ScalarType to : kAll) {
      at::Tensor x = numbers({3, 70}, from);
      if (c10::isIntegralType(to, false))
        x = at::nan_to_num(x, 3, 7, -7)
                .clamp(c10::isIntegralType(to, false) && to == at::kByte ? 0 : -100, 100)
                .to(from);
      for (const at::Tensor& input : {x, x.t(), x.slice(1, 0, 70, 3)}) {
        const at::Tensor wanted = input.to(to).contiguous(), made = result_like(wanted);
        TileExpression expression(input.sizes());
        expression.store(expression.cast(expression.load(view(input)), from, to), view(made));
        SCOPED_TRACE(std::string(c10::toString(from)) + " to " + c10::toString(to));
        run(expression);
        expect_same(wanted, made, 0);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(Tiles, joined_expressions_hand_on_in_registers_and_store_where_they_are_told) {
  const at::Tensor x = at::randn({6, 50}), row = at::randn({50}), wide = at::zeros({6, 101});
  const at::Tensor between = at::full({6, 50}, 5.0f), part = wide.slice(1, 1, 51);
  const at::DimVector sizes{6, 50};
  TileExpression first(sizes), second(sizes);
  const TensorView made = view(between);
  const Node sum = first.op(TileOpcode::kAdd, first.load(view(x)), first.load(view(row)));
  first.store(sum, made);
  const Node half = second.number(0.5, TileType::kFloat);
  const Node scaled = second.op(TileOpcode::kMul, second.load(made), half);
  second.store(second.op(TileOpcode::kTanh, scaled), view(part));
  ASSERT_TRUE(first.join(second));
  first.keep_stores([&](const TensorView& to) { return to.buffer != made.buffer; });
  EXPECT_EQ(first.reads().size(), 2u);
  run(first);
  EXPECT_TRUE(at::allclose(at::tanh((x + row) * 0.5), part));
  EXPECT_TRUE(between.eq(5).all().item<bool>());
  EXPECT_TRUE(wide.slice(1, 51).eq(0).all().item<bool>());
}

TEST_P(Tiles, what_is_read_in_another_order_than_it_is_written_is_not_joined) {
  const at::Tensor x = at::randn({4, 4}), between = at::zeros({4, 4}), y = at::zeros({4, 4});
  const at::DimVector sizes{4, 4};
  TileExpression first(sizes), second(sizes);
  TensorView made = view(between);
  first.store(first.load(view(x)), made);
  std::swap(made.meta.strides[0], made.meta.strides[1]);
  second.store(second.load(made), view(y));
  EXPECT_FALSE(first.join(second));
  EXPECT_EQ(first.reads().size(), 1u);
}

TEST_P(Tiles, more_values_at_once_than_registers_are_refused) {
  TileExpression expression(at::DimVector{100});
  const at::Tensor x = at::randn({100});
  const Node in = expression.load(view(x));
  std::vector<Node> alive;
  for (int i = 0; i < 40; ++i)
    alive.push_back(expression.op(TileOpcode::kMul, in, expression.number(i + 0.5, TileType::kFloat)));
  Node sum = alive[0];
  for (int i = 1; i < 40; ++i) sum = expression.op(TileOpcode::kAdd, sum, alive[i]);
  expression.store(sum, view(x));
  EXPECT_EQ(expression.compile(), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Capabilities, Tiles, testing::ValuesIn(usable_tables()),
                         [](const auto& info) { return std::string(info.param->capability); });

TEST(KernelDispatch, follows_libtorch) {
  const KernelTable* expected = find_kernels(at::get_cpu_capability());
  EXPECT_EQ(&kernels(), expected ? expected : find_kernels("DEFAULT"));
  EXPECT_EQ(find_kernels("none"), nullptr);
}

}  // namespace
}  // namespace stator
