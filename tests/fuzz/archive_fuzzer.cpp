// Any bytes as an archive: its directory, its members, its pickles, its records of weights. Each ends in a value or in an Error.

#include <cstdint>
#include <memory>
#include <span>

#include "frontend/archive.h"
#include "frontend/export/load.h"
#include "frontend/torchscript/pickle_check.h"
#include "graph/error.h"

namespace {

template <class F>
void attempt(F&& read) {
  try {
    read();
  } catch (const stator::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const char> bytes(reinterpret_cast<const char*>(data), size);
  attempt([&] {
    stator::check_archive(bytes);
    for (const auto& member : stator::archive_members(bytes)) attempt([&] { stator::member_content(bytes, member); });
    stator::check_pickles(bytes);
  });
  const std::shared_ptr<const void> borrowed(data, [](const void*) {});
  attempt([&] { stator::load_export({borrowed, size}, /*borrow=*/true); });
  return 0;
}
