// What a model says to people: print() and warnings.warn(). Both go to the log; LibTorch's own operators would write to the process's
// standard output, or to a handler that belongs to the host.
#include <sstream>

#include "graph/log.h"
#include "ops/registry.h"

namespace stator {
namespace {

// As the interpreter puts it, without the line's end.
void print(const Call& call) {
  if (!log_wanted(LogLevel::kInfo)) return;
  std::ostringstream text;
  for (int i = 0; i < call.input_count(); ++i) text << (i ? " " : "") << call.in(i);
  log(LogLevel::kInfo, text.str());
}

// (message, stacklevel)
void warn(const Call& call) {
  if (log_wanted(LogLevel::kWarning)) log(LogLevel::kWarning, call.in(0).toStringRef());
}

const Registration registered_print(ImplKind::kNative, "prim::Print", print);
const Registration registered_warn(ImplKind::kNative, "aten::warn", warn);

}  // namespace
}  // namespace stator
