#include "plan/saved_record.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace stator {
namespace {

constexpr int64_t kMostDimensions = 64;
constexpr int64_t kNone = -1;

// FNV-1a over what instructions do: a record fits no other plan.
class Fingerprint {
 public:
  explicit Fingerprint(const Plan& plan) {
    add(plan.input_count);
    add(plan.slot_count);
    for (int32_t operand : plan.operands) add(operand);
    for (const Instruction& instruction : plan.code) {
      for (int64_t part :
           {static_cast<int64_t>(instruction.kind), int64_t{instruction.operands}, int64_t{instruction.input_count},
            int64_t{instruction.output_count}, int64_t{instruction.target}, int64_t{instruction.index}})
        add(part);
      if (instruction.node >= 0) add(plan.nodes[instruction.node].node->display_name());
    }
  }
  int64_t value() const { return static_cast<int64_t>(hash_); }

 private:
  void add(std::string_view text) {
    for (char c : text) mix(static_cast<unsigned char>(c));
  }
  void add(int64_t number) {
    for (int shift = 0; shift < 64; shift += 8) mix(static_cast<uint64_t>(number) >> shift & 0xff);
  }
  void mix(uint64_t byte) { hash_ = (hash_ ^ byte) * 0x100000001b3; }

  uint64_t hash_ = 0xcbf29ce484222325;
};

size_t state_read(const Plan& plan) {
  std::set<int32_t> slots;
  for (const Instruction& instruction : plan.code) {
    if (instruction.kind == InstructionKind::kLoadState) slots.insert(instruction.index);
  }
  return slots.size();
}

class Writer {
 public:
  explicit Writer(std::vector<int64_t>& out) : out_(out) {}

  int64_t look(const TensorMeta& meta) {
    auto found = std::find(looks_.begin(), looks_.end(), meta);
    if (found == looks_.end()) found = looks_.insert(looks_.end(), meta);
    return found - looks_.begin();
  }

  // Behind what refers to them, which is in `body`.
  void finish(const std::vector<int64_t>& body) {
    out_.push_back(static_cast<int64_t>(looks_.size()));
    for (const TensorMeta& meta : looks_) {
      out_.push_back(static_cast<int64_t>(meta.dtype));
      out_.push_back(meta.dim());
      out_.insert(out_.end(), meta.sizes.begin(), meta.sizes.end());
      out_.insert(out_.end(), meta.strides.begin(), meta.strides.end());
    }
    out_.insert(out_.end(), body.begin(), body.end());
  }

 private:
  std::vector<int64_t>& out_;
  std::vector<TensorMeta> looks_;
};

// Numbers in turn; after one that is out of its range `ok()` is false and all others are 0.
class RecordReader {
 public:
  explicit RecordReader(std::span<const int64_t> numbers) : numbers_(numbers) {}

  bool ok() const { return ok_; }
  bool at_end() const { return numbers_.empty(); }
  int64_t number(int64_t least = std::numeric_limits<int64_t>::min(),
                 int64_t most = std::numeric_limits<int64_t>::max()) {
    if (!ok_ || numbers_.empty() || numbers_[0] < least || numbers_[0] > most) {
      ok_ = false;
      return 0;
    }
    const int64_t out = numbers_[0];
    numbers_ = numbers_.subspan(1);
    return out;
  }
  // Of things that take at least one number each.
  int64_t count() { return number(0, static_cast<int64_t>(numbers_.size())); }

  void looks() {
    for (int64_t left = count(); left > 0 && ok_; --left) {
      TensorMeta meta;
      meta.dtype = static_cast<at::ScalarType>(number(0, static_cast<int64_t>(at::ScalarType::NumOptions) - 1));
      const int64_t dimensions = number(0, kMostDimensions);
      for (auto* part : {&meta.sizes, &meta.strides})
        for (int64_t i = 0; i < dimensions; ++i) part->push_back(number(0));
      ok_ = ok_ && meta.dtype != at::ScalarType::Undefined && is_sensible(meta);
      looks_.push_back(std::move(meta));
    }
  }
  const TensorMeta* look() {
    const int64_t index = number(kNone, static_cast<int64_t>(looks_.size()) - 1);
    return ok_ && index >= 0 ? &looks_[static_cast<size_t>(index)] : nullptr;
  }

 private:
  // Its bytes can be counted, with room to spare.
  static bool is_sensible(const TensorMeta& meta) {
    int64_t span = meta.itemsize(), elements = meta.itemsize();
    for (size_t i = 0; i < meta.sizes.size(); ++i) {
      int64_t part = 0;
      if (__builtin_mul_overflow(elements, std::max<int64_t>(meta.sizes[i], 1), &elements) ||
          __builtin_mul_overflow(std::max<int64_t>(meta.sizes[i], 1), meta.strides[i], &part) ||
          __builtin_mul_overflow(part, meta.itemsize(), &part) || __builtin_add_overflow(span, part, &span))
        return false;
    }
    constexpr int64_t kMost = int64_t{1} << 46;
    return span < kMost && elements < kMost;
  }

  std::span<const int64_t> numbers_;
  std::vector<TensorMeta> looks_;
  bool ok_ = true;
};

SignatureEntry read_entry(RecordReader& in) {
  SignatureEntry entry;
  entry.kind = static_cast<SignatureEntry::Kind>(in.number(0, static_cast<int64_t>(SignatureEntry::Kind::kOther)));
  entry.number = in.number();
  const TensorMeta* look = in.look();
  if (entry.kind == SignatureEntry::Kind::kTensor && look) entry.tensor = *look;
  return entry;
}

// Whether a run may go from one instruction to the other; the end is behind the last.
bool can_follow(const Instruction& instruction, int32_t pc, int32_t next) {
  switch (instruction.kind) {
    case InstructionKind::kJump:
      return next == instruction.target;
    case InstructionKind::kJumpIfFalse:
    case InstructionKind::kLoopStart:
    case InstructionKind::kLoopNext:
      return next == pc + 1 || next == instruction.target;
    case InstructionKind::kRaise:
      return false;
    default:
      return next == pc + 1;
  }
}

bool is_run_of(const Plan& plan, const Recording& recording) {
  const auto end = static_cast<int32_t>(plan.code.size());
  if (recording.steps.empty()) return recording.complete && end == 0;
  if (recording.steps[0].pc != 0) return false;
  for (size_t i = 0; i < recording.steps.size(); ++i) {
    const auto& step = recording.steps[i];
    const Instruction& instruction = plan.code[step.pc];
    if (static_cast<int32_t>(step.outputs.size()) != instruction.output_count) return false;
    if (i + 1 < recording.steps.size() && !can_follow(instruction, step.pc, recording.steps[i + 1].pc)) return false;
  }
  const int32_t last = recording.steps.back().pc;
  return !recording.complete || can_follow(plan.code[last], last, end);
}

}  // namespace

std::vector<int64_t> write_record(const Plan& plan, const InputSignature& signature, const Recording& recording) {
  std::vector<int64_t> out{Fingerprint(plan).value(), signature.threads(), recording.complete};
  std::vector<int64_t> body;
  Writer writer(out);
  body.push_back(static_cast<int64_t>(signature.entries().size()));
  for (const SignatureEntry& entry : signature.entries()) {
    const bool tensor = entry.kind == SignatureEntry::Kind::kTensor;
    body.push_back(static_cast<int64_t>(entry.kind));
    body.push_back(entry.number);
    body.push_back(tensor ? writer.look(entry.tensor) : kNone);
  }
  body.push_back(static_cast<int64_t>(recording.steps.size()));
  for (const Recording::Step& step : recording.steps) {
    body.push_back(step.pc);
    body.push_back(static_cast<int64_t>(step.outputs.size()));
    for (const auto& output : step.outputs) body.push_back(output ? writer.look(*output) : kNone);
  }
  writer.finish(body);
  return out;
}

std::optional<SavedRecord> read_record(const Plan& plan, std::span<const int64_t> numbers) {
  RecordReader in(numbers);
  if (in.number() != Fingerprint(plan).value()) return std::nullopt;
  const auto threads = static_cast<int>(in.number(1, 1 << 16));
  Recording recording;
  recording.complete = in.number(0, 1) != 0;
  in.looks();
  std::vector<SignatureEntry> entries;
  for (int64_t left = in.count(); left > 0 && in.ok(); --left) entries.push_back(read_entry(in));
  for (int64_t left = in.count(); left > 0 && in.ok(); --left) {
    auto& step = recording.steps.emplace_back();
    step.pc = static_cast<int32_t>(in.number(0, static_cast<int64_t>(plan.code.size()) - 1));
    for (int64_t outputs = in.count(); outputs > 0 && in.ok(); --outputs) {
      const TensorMeta* look = in.look();
      step.outputs.push_back(look ? std::optional(*look) : std::nullopt);
    }
  }
  const bool right = in.ok() && in.at_end() && recording.steps.size() <= Recording::kMostSteps &&
                     entries.size() == static_cast<size_t>(plan.input_count) + state_read(plan) &&
                     is_run_of(plan, recording);
  if (!right) return std::nullopt;
  return SavedRecord{InputSignature(std::move(entries), threads), std::move(recording)};
}

}  // namespace stator
