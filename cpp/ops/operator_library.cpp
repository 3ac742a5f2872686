#include "ops/operator_library.h"

#include <ATen/Context.h>
#include <dlfcn.h>
#include <unistd.h>

#include "graph/error.h"

namespace stator {
namespace {

void* open(const std::string& path) { return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE); }

// Extensions are linked with libtorch.so, which holds nothing but names libtorch_cpu.so; the loader finds it only where LD_LIBRARY_PATH or the
// extension itself says so.
bool open_stub_of_torch() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&at::globalContext), &info) == 0 || !info.dli_fname) return false;
  const std::string torch_cpu = info.dli_fname;
  const auto slash = torch_cpu.rfind('/');
  return slash != std::string::npos && open(torch_cpu.substr(0, slash + 1) + "libtorch.so");
}

}  // namespace

void load_operator_library(const std::string& path) {
  if (path.find('/') != std::string::npos && access(path.c_str(), F_OK) != 0)
    throw Error(ErrorCode::kNotFound, "there is no file \"" + path + "\"");
  if (open(path)) return;
  std::string why = dlerror();
  if (why.starts_with("libtorch.so:") && open_stub_of_torch()) {
    if (open(path)) return;
    why = dlerror();
  }
  throw Error(ErrorCode::kIo, "the operator library \"" + path + "\" cannot be opened: " + why);
}

}  // namespace stator
