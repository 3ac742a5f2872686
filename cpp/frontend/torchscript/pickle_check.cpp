#include "frontend/torchscript/pickle_check.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/archive.h"
#include "graph/error.h"

namespace stator {
namespace {

constexpr int kDeepestValues = 10'000;  // values in values; they are destroyed by recursion

// Bytes by name; of several of one name the fewest.
using RecordSizes = std::map<std::string, uint64_t>;

// What is known of a value on the unpickler's stack.
struct Item {
  enum class Kind : uint8_t { kOther, kMark, kNumber, kText, kTuple };
  Kind kind = Kind::kOther;
  int64_t number = 0;
  std::string_view text{};
  std::shared_ptr<const std::vector<Item>> elements{};
  int depth = 0;
};

struct StorageClass {
  std::string_view name;
  int64_t element_size;
};
constexpr std::array<StorageClass, 12> kStorageClasses{{{"ByteStorage", 1},
                                                        {"CharStorage", 1},
                                                        {"BoolStorage", 1},
                                                        {"ShortStorage", 2},
                                                        {"HalfStorage", 2},
                                                        {"BFloat16Storage", 2},
                                                        {"IntStorage", 4},
                                                        {"FloatStorage", 4},
                                                        {"LongStorage", 8},
                                                        {"DoubleStorage", 8},
                                                        {"ComplexFloatStorage", 8},
                                                        {"ComplexDoubleStorage", 16}}};

int64_t element_size_of(std::string_view storage_class) {
  for (const StorageClass& known : kStorageClasses) {
    if (known.name == storage_class) return known.element_size;
  }
  return 1;
}

// Walks through the opcodes as the unpickler does. An opcode that LibTorch does not write ends the walk: its reader takes no others.
class Walker {
 public:
  Walker(std::string_view pickle, std::string name, std::string folder, const RecordSizes& records)
      : pickle_(pickle), name_(std::move(name)), folder_(std::move(folder)), records_(records) {}

  void walk() {
    while (position_ < pickle_.size() && step(pickle_[position_++])) {
    }
  }

 private:
  [[noreturn]] void malformed(const std::string& why) const {
    throw Error(ErrorCode::kBadModel, "the archive is damaged: \"" + name_ + "\" " + why);
  }

  std::string_view take(uint64_t size) {
    if (size > pickle_.size() - position_) malformed("announces more than it holds");
    const auto out = pickle_.substr(position_, size);
    position_ += size;
    return out;
  }
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));  // little endian, as the machine
    return value;
  }
  std::string_view line() {
    const size_t end = pickle_.find('\n', position_);
    const auto out = take((end == std::string_view::npos ? pickle_.size() : end) - position_);
    position_ = std::min(position_ + 1, pickle_.size());
    return out;
  }

  bool push(Item item = {}) {
    stack_.push_back(std::move(item));
    return true;
  }
  bool push_number(int64_t value) { return push({.kind = Item::Kind::kNumber, .number = value}); }
  bool push_text(std::string_view value) { return push({.kind = Item::Kind::kText, .text = value}); }
  Item pop() {
    if (stack_.empty()) malformed("takes what is not there");
    Item out = std::move(stack_.back());
    stack_.pop_back();
    return out;
  }
  std::vector<Item> pop_to_mark() {
    auto mark = std::find_if(stack_.rbegin(), stack_.rend(), [](const Item& i) { return i.kind == Item::Kind::kMark; });
    if (mark == stack_.rend()) malformed("takes what is not there");
    std::vector<Item> out(mark.base(), stack_.end());
    stack_.erase(std::prev(mark.base()), stack_.end());
    return out;
  }
  int around(const std::vector<Item>& elements) const {
    int depth = 0;
    for (const Item& element : elements) depth = std::max(depth, element.depth);
    if (depth >= kDeepestValues) malformed("is nested too deeply");
    return depth + 1;
  }
  bool push_tuple(std::vector<Item> elements) {
    const int depth = around(elements);
    auto shared = std::make_shared<const std::vector<Item>>(std::move(elements));
    return push({.kind = Item::Kind::kTuple, .elements = std::move(shared), .depth = depth});
  }
  bool push_tuple_of(size_t count) {
    std::vector<Item> elements(count);
    for (size_t i = count; i-- > 0;) elements[i] = pop();
    return push_tuple(std::move(elements));
  }
  // What is put into the list, dict or object below it makes that deeper.
  bool put_into(const std::vector<Item>& elements) {
    Item holder = pop();
    holder.depth = std::max(holder.depth, around(elements));
    return push(std::move(holder));
  }
  bool replace(size_t count) {
    std::vector<Item> elements(count);
    for (Item& element : elements) element = pop();
    return push({.depth = around(elements)});
  }

  bool remember(uint64_t index) {
    // LibTorch's table grows to the largest number; each takes two bytes to write.
    if (index > pickle_.size()) malformed("numbers a value " + std::to_string(index));
    memo_[index] = stack_.empty() ? Item() : stack_.back();
    return true;
  }
  bool recall(uint64_t index) { return push(memo_[index]); }

  // ("storage", class, key, device, count)
  bool check_storage() {
    const Item id = pop();
    if (id.elements && id.elements->size() >= 5) {
      const std::vector<Item>& parts = *id.elements;
      const auto record = records_.find(folded(folder_ + std::string(parts[2].text)));
      int64_t bytes = 0;
      const bool counted = parts[4].number >= 0 &&
                           !__builtin_mul_overflow(parts[4].number, element_size_of(parts[1].text), &bytes) &&
                           (record == records_.end() || static_cast<uint64_t>(bytes) <= record->second);
      if (!counted)
        malformed("holds a tensor of " + std::to_string(parts[4].number) + " elements, which does not fit its record");
    }
    return push();
  }

  bool step(char opcode) {
    switch (static_cast<unsigned char>(opcode)) {
      case '(':
        return push({.kind = Item::Kind::kMark});
      case '0':
        pop();
        return true;
      case '2':
        return push(stack_.empty() ? Item() : stack_.back());
      case 'N':
      case ']':
      case '}':
      case 0x88:
      case 0x89:
        return push();
      case ')':
        return push_tuple({});
      case 't':
        return push_tuple(pop_to_mark());
      case 0x85:
      case 0x86:
      case 0x87:
        return push_tuple_of(static_cast<unsigned char>(opcode) - 0x84U);
      case 'l':
      case 'd':
        return push({.depth = around(pop_to_mark())});
      case 'e':
      case 'u':
        return put_into(pop_to_mark());
      case 'a':
        return put_into({pop()});
      case 's': {
        Item value = pop();
        return put_into({std::move(value), pop()});
      }
      case 'b':
      case 'R':
      case 0x81:
        return replace(2);
      case 'Q':
        return check_storage();
      default:
        return step_with_argument(opcode);
    }
  }

  bool step_with_argument(char opcode) {
    switch (static_cast<unsigned char>(opcode)) {
      case 0x80:
        take(1);
        return true;
      case 'c':
        line();
        return push_text(line());
      case 'K':
        return push_number(number<uint8_t>());
      case 'M':
        return push_number(number<uint16_t>());
      case 'J':
        return push_number(number<int32_t>());
      case 'G':
        take(8);
        return push();
      case 0x8a: {
        const auto digits = take(number<uint8_t>());
        int64_t value = 0;
        if (digits.size() <= sizeof(value)) {
          value = !digits.empty() && digits.back() < 0 ? -1 : 0;
          std::memcpy(&value, digits.data(), digits.size());
        }
        return push_number(digits.size() <= sizeof(value) ? value : -1);
      }
      case 0x8b:
        take(number<uint32_t>());
        return push();
      case 'X':
      case 'T':
      case 'B':
        return push_text(take(number<uint32_t>()));
      case 'U':
      case 'C':
      case 0x8c:
        return push_text(take(number<uint8_t>()));
      case 0x8d:
      case 0x8e:
        return push_text(take(number<uint64_t>()));
      case 'q':
        return remember(number<uint8_t>());
      case 'r':
        return remember(number<uint32_t>());
      case 'h':
        return recall(number<uint8_t>());
      case 'j':
        return recall(number<uint32_t>());
      default:
        return false;
    }
  }

  std::string_view pickle_;
  std::string name_;
  std::string folder_;  // of its tensors' records
  const RecordSizes& records_;
  size_t position_ = 0;
  std::vector<Item> stack_;
  std::map<uint64_t, Item> memo_;
};

}  // namespace

void check_pickles(std::span<const char> archive) {
  // Those that are read. (The records of "traced_inputs.pkl" are empty, whatever that says.)
  constexpr std::array<std::string_view, 3> kRead{"/data.pkl", "/constants.pkl", ".debug_pkl"};
  const auto members = archive_members(archive);
  RecordSizes records;
  for (const ArchiveMember& member : members) {
    auto [known, added] = records.emplace(folded(member.name), member.size);
    if (!added) known->second = std::min(known->second, member.size);
  }
  for (const ArchiveMember& member : members) {
    const std::string name = folded(member.name);
    if (std::none_of(kRead.begin(), kRead.end(), [&](std::string_view ending) { return name.ends_with(ending); }))
      continue;
    const std::string content = member_content(archive, member);
    const std::string folder = name.substr(0, name.rfind('.')) + "/";
    Walker(content, member.name, folder, records).walk();
  }
}

}  // namespace stator
