#include "frontend/torchscript/debug_check.h"

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <string>

#include "frontend/archive.h"
#include "graph/error.h"

namespace stator {
namespace {

// A record is either lines, or a text, a table of texts, and lines. A line is (offset, range[, tag]), a range (source, start, end), a source
// (text, file, first line), in which the text is made of some of the table if there is one.
class DebugRecord {
 public:
  explicit DebugRecord(std::string name) : name_(std::move(name)) {}

  void check(const c10::IValue& record) {
    const auto& elements = tuple(record, 0);
    if (elements.empty() || !elements[0].isString()) return check_lines(record);
    tuple(record, 3);
    texts_ = static_cast<int64_t>(tuple(elements[1], 0).size());
    for (const c10::IValue& text : tuple(elements[1], 0)) expect(text.isString());
    check_lines(elements[2]);
  }

 private:
  void expect(bool holds) const {
    if (!holds) {
      throw Error(ErrorCode::kBadModel, "the archive is damaged: \"" + name_ + "\" is no table of places in sources");
    }
  }

  const c10::ivalue::TupleElements& tuple(const c10::IValue& value, size_t least) const {
    expect(value.isTuple() && value.toTupleRef().elements().size() >= least);
    return value.toTupleRef().elements();
  }

  void check_lines(const c10::IValue& lines) const {
    for (const c10::IValue& line : tuple(lines, 0)) check_source(tuple(tuple(line, 2)[1], 3)[0]);
  }

  void check_source(const c10::IValue& source) const {
    const c10::IValue& text = tuple(source, 3)[0];
    if (texts_ == 0) return;  // LibTorch expects a text then, and looks
    expect(text.isIntList());
    for (int64_t index : text.toIntVector()) expect(index >= 0 && index < texts_);
  }

  std::string name_;
  int64_t texts_ = 0;
};

c10::IValue unpickled(const std::string& pickle, const std::string& name) {
  try {
    return torch::jit::unpickle(pickle.data(), pickle.size());
  } catch (const c10::Error& error) {
    throw Error(ErrorCode::kBadModel, "the archive is damaged: \"" + name + "\": " + error.what_without_backtrace());
  } catch (const std::exception& error) {  // it asks for tensors, which nobody gives it here
    throw Error(ErrorCode::kBadModel, "the archive is damaged: \"" + name + "\": " + error.what());
  }
}

}  // namespace

void check_debug_records(std::span<const char> archive) {
  for (const ArchiveMember& member : archive_members(archive)) {
    if (!folded(member.name).ends_with(".debug_pkl") || member.size == 0) continue;
    DebugRecord(member.name).check(unpickled(member_content(archive, member), member.name));
  }
}

}  // namespace stator
