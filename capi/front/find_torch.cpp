// The order of the search, and why: a caller's word counts most, except that a process can hold only one LibTorch (a second copy's
// symbols resolve to the first), so one that is there already is used whatever was named. Nothing is read from the environment.
#include "front/find_torch.h"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "front/status.h"

namespace stator::front {
namespace {

namespace fs = std::filesystem;

constexpr const char *kLibrary = "libtorch_cpu.so";

std::string spelled(std::array<int32_t, 2> version) {
  return std::to_string(version[0]) + "." + std::to_string(version[1]);
}

std::string advice(std::array<int32_t, 2> wanted) {
  return " Install PyTorch or LibTorch " + spelled(wanted) +
         " and name its folder: stator_torch_load(path), or STATOR_TORCH_HOME in the environment of a binding or tool.";
}

bool is_file(const fs::path &path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// What this search has opened. Closed again, last first, unless it is kept.
class Opened {
 public:
  Opened() = default;
  Opened(const Opened &) = delete;
  Opened &operator=(const Opened &) = delete;
  ~Opened() {
    while (!handles_.empty()) {
      dlclose(handles_.back());
      handles_.pop_back();
    }
  }
  void *add(void *handle) {
    if (handle != nullptr) handles_.push_back(handle);
    return handle;
  }
  void keep() { handles_.clear(); }

 private:
  std::vector<void *> handles_;
};

void *resident(const char *name) { return dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD); }

// Opens `folder/name` unless a library of that name is loaded already: two copies of libgomp in one process mean two thread pools.
void preload(Opened &opened, const fs::path &folder, const char *name) {
  if (opened.add(resident(name)) == nullptr && is_file(folder / name))
    opened.add(dlopen((folder / name).c_str(), RTLD_NOW | RTLD_LOCAL));
}

// "libcudart.so.13: cannot open shared object file: ..." -> "libcudart.so.13"; "" if the loader complains of something else.
std::string missing_library(const std::string &error) {
  const std::string name = error.substr(0, error.find(':'));
  return name.starts_with("lib") && name.find('/') == std::string::npos && name.find(".so") != std::string::npos ? name
                                                                                                                 : "";
}

// Where a wheel's dependencies lie: beside LibTorch, and in site-packages/nvidia/*/lib.
fs::path beside(const fs::path &folder, const std::string &name) {
  if (is_file(folder / name)) return folder / name;
  std::error_code ended;
  for (fs::directory_iterator entry(folder / "../../nvidia", ended), last; !ended && entry != last;
       entry.increment(ended)) {
    if (is_file(entry->path() / "lib" / name)) return entry->path() / "lib" / name;
  }
  return {};
}

// A CUDA wheel's libtorch_cpu.so needs libcudart and libcupti. Its run path finds them as pip lays them out; if not, we look.
void *open_in_folder(Opened &opened, const fs::path &folder, std::array<int32_t, 2> wanted) {
  preload(opened, folder, "libgomp.so.1");
  preload(opened, folder, "libc10.so");
  std::string tried;
  while (true) {
    void *handle = opened.add(dlopen((folder / kLibrary).c_str(), RTLD_NOW | RTLD_LOCAL));
    if (handle != nullptr) return handle;
    const char *text = dlerror();
    const std::string error = text != nullptr ? text : "unknown error";
    const std::string name = missing_library(error);
    const fs::path file = name.empty() || name == tried ? fs::path() : beside(folder, name);
    if (file.empty() || opened.add(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) == nullptr) {
      throw Refusal{STATOR_TORCH_NOT_FOUND,
                    (folder / kLibrary).string() + " cannot be loaded: " + error + "." + advice(wanted)};
    }
    tried = name;
  }
}

// The folder with libtorch_cpu.so below the one that a caller named.
fs::path library_folder(const std::string &given, std::array<int32_t, 2> wanted) {
  for (const fs::path &folder : {fs::path(given) / "lib", fs::path(given)}) {
    if (is_file(folder / kLibrary)) return folder;
  }
  throw Refusal{STATOR_TORCH_NOT_FOUND, "no LibTorch in \"" + given + "\": expected " +
                                            (fs::path(given) / "lib" / kLibrary).string() + "." + advice(wanted)};
}

void *search(Opened &opened, const fs::path &own_folder, std::array<int32_t, 2> wanted) {
  std::string tried;
  for (const char *relative :
       {"../torch/lib", "../../torch/lib"}) {  // site-packages/stator and stator/lib, beside site-packages/torch
    const fs::path folder = (own_folder / relative).lexically_normal();
    if (is_file(folder / kLibrary)) return open_in_folder(opened, folder, wanted);
    tried += (folder / kLibrary).string() + ", ";
  }
  if (void *handle = opened.add(dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL))) return handle;
  const char *error = dlerror();
  throw Refusal{STATOR_TORCH_NOT_FOUND, "no LibTorch found. Tried: one loaded in this process, " + tried +
                                            "the system's loader (" + (error != nullptr ? error : "no reason given") +
                                            ")." + advice(wanted)};
}

std::string path_of(const void *address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : kLibrary;
}

// Every LibTorch since 2.10 tells its version through the C shim; see torch/headeronly/version.h for the encoding.
Torch ask_version(void *handle, bool was_resident, std::array<int32_t, 2> wanted) {
  const std::string held = was_resident ? " It was in this process already, and a process can hold only one." : "";
  void *symbol = dlsym(handle, "aoti_torch_abi_version");
  if (symbol == nullptr) {
    void *any = dlsym(handle, "aoti_torch_device_type_cpu");
    throw Refusal{STATOR_TORCH_VERSION, "this Stator needs LibTorch " + spelled(wanted) + "; " +
                                            (any != nullptr ? path_of(any) : kLibrary) +
                                            " is older: it cannot tell its version." + held + advice(wanted)};
  }
  const uint64_t code = reinterpret_cast<uint64_t (*)()>(symbol)();
  const auto part = [code](int shift) { return static_cast<int32_t>(code >> shift & 0xff); };
  Torch torch{path_of(symbol), {part(56), part(48), part(40)}};
  if (torch.version[0] != wanted[0] || torch.version[1] != wanted[1]) {
    throw Refusal{STATOR_TORCH_VERSION, "this Stator needs LibTorch " + spelled(wanted) + "; " + torch.path + " is " +
                                            spelled({torch.version[0], torch.version[1]}) + "." +
                                            std::to_string(torch.version[2]) + "." + held + advice(wanted)};
  }
  return torch;
}

}  // namespace

Torch open_torch(const std::string &given, const std::string &own_folder, std::array<int32_t, 2> wanted) {
  Opened opened;
  const fs::path folder = given.empty() ? fs::path() : library_folder(given, wanted);
  void *handle = opened.add(resident(kLibrary));
  const bool was_resident = handle != nullptr;
  if (!was_resident)
    handle = given.empty() ? search(opened, own_folder, wanted) : open_in_folder(opened, folder, wanted);
  Torch torch = ask_version(handle, was_resident, wanted);
  opened.keep();
  return torch;
}

}  // namespace stator::front
