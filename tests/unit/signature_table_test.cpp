// Which of the signatures known to a runtime fits what goes into a run.
#include "plan/signature_table.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <deque>

namespace stator {
namespace {

struct Known {
  std::vector<c10::IValue> inputs;
  RunValues values{inputs, {}, {}, 1};
  InputSignature signature{values};
};

TEST(SignatureTable, finds_each_signature_whose_place_is_its_own) {
  std::deque<Known> known;
  SignatureTable table(8);
  for (int64_t length = 0; length < 8; ++length) {
    known.push_back({{at::empty({length}), length}});
    EXPECT_EQ(SignatureTable::kNone, table.find(known.back().values));
    EXPECT_EQ(static_cast<size_t>(length), table.insert(known.back().signature));
  }
  for (size_t turn = 0; turn < 2; ++turn) {
    for (size_t place = 0; place < known.size(); ++place) EXPECT_EQ(place, table.find(known[place].values));
  }
  table.clear();
  EXPECT_EQ(SignatureTable::kNone, table.find(known[7].values));
  EXPECT_EQ(0U, table.insert(known[7].signature));
}

TEST(SignatureTable, gives_away_the_place_of_the_longest_unused) {
  std::deque<Known> known;
  for (int64_t length = 0; length < 4; ++length) known.push_back({{at::empty({length})}});
  SignatureTable table(3);
  for (size_t i = 0; i < 3; ++i) table.insert(known[i].signature);
  EXPECT_EQ(0U, table.find(known[0].values));
  EXPECT_EQ(1U, table.insert(known[3].signature));
  EXPECT_EQ(SignatureTable::kNone, table.find(known[1].values));
  EXPECT_EQ(0U, table.find(known[0].values));
  EXPECT_EQ(2U, table.find(known[2].values));
  EXPECT_EQ(1U, table.find(known[3].values));
  for (int64_t length = 4; length < 40; ++length) {
    known.push_back({{at::empty({length})}});
    EXPECT_EQ(SignatureTable::kNone, table.find(known.back().values));
    table.insert(known.back().signature);
  }
  for (size_t i = 0; i < known.size(); ++i)
    EXPECT_EQ(i + 3 >= known.size(), table.find(known[i].values) != SignatureTable::kNone) << i;
}

TEST(SignatureTable, tells_apart_what_decides_shapes) {
  const at::Tensor square = at::empty({3, 3});
  std::deque<Known> known;
  for (const c10::IValue& first :
       std::vector<c10::IValue>{square, square.t(), square.to(at::kDouble), square.view({9}), square.view({3, 3, 1}),
                                int64_t{1}, int64_t{2}, true, false, c10::IValue(), 1.5}) {
    known.push_back({{first, square}});
    known.push_back({{square, first}});
  }
  known.pop_front();  // both ways the same
  SignatureTable table(known.size());
  for (const Known& one : known) {
    EXPECT_EQ(one.signature.hash(), InputSignature::hash_of(one.values));
    EXPECT_EQ(SignatureTable::kNone, table.find(one.values));
    table.insert(one.signature);
  }
  for (size_t place = 0; place < known.size(); ++place) EXPECT_EQ(place, table.find(known[place].values));
}

}  // namespace
}  // namespace stator
