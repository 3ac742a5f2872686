// Opens the core on the first call that needs it: finds LibTorch, opens the core beside this library, fills the page of forward.h.
//
// A failed attempt leaves nothing behind, so that stator_torch_load() can try again.
#include <dlfcn.h>
#include <linux/limits.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <string_view>

#include "front/find_torch.h"
#include "front/forward.h"
#include "front/status.h"

// Both are set by the build, which knows the LibTorch that the core was built with.
#ifndef STATOR_CORE_FILE
#error "STATOR_CORE_FILE: the name of the core, libstator_torchMAJOR_MINOR.so"
#endif
#ifndef STATOR_VERSION_STRING
#error "STATOR_VERSION_STRING: the version of Stator"
#endif

namespace stator::front {
namespace {

constexpr const void *const kEmptyPage[kCoreCount] = {};

constinit std::mutex opening;
constinit std::atomic<const void *const *> table{nullptr};  // the core's own, which a fork leaves in place
constinit std::atomic<pid_t> opener{0};                     // the process that opens or has opened LibTorch
constinit stator_front_services services{};

consteval int number_after(std::string_view text, size_t at) {
  int number = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) number = number * 10 + (text[at] - '0');
  return number;
}

// "libstator_torch2_15.so" -> {2, 15}
consteval std::array<int32_t, 2> wanted_torch() {
  constexpr std::string_view kName = STATOR_CORE_FILE;
  constexpr std::string_view kPrefix = "libstator_torch";
  static_assert(kName.starts_with(kPrefix));
  return {number_after(kName, kPrefix.size()), number_after(kName, kName.rfind('_') + 1)};
}
static_assert(wanted_torch()[0] > 0);

// An absolute path even where the loader was given a relative one and the process has changed its folder since.
std::string own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void *>(&stator_abi_version), &info) == 0 || info.dli_fname == nullptr) {
    throw Refusal{STATOR_INTERNAL, "the loader cannot tell where libstator.so is"};
  }
  std::array<char, PATH_MAX> origin{};
  void *self = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  const bool known = self != nullptr && dlinfo(self, RTLD_DI_ORIGIN, origin.data()) == 0 && origin[0] != '\0';
  if (self != nullptr) dlclose(self);
  if (known) return origin.data();
  const std::string path = info.dli_fname;
  return path.find('/') == std::string::npos ? "." : path.substr(0, path.rfind('/'));
}

void *open_core_library(const std::string &file, const Torch &torch) {
  void *handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle != nullptr) return handle;
  const char *text = dlerror();
  const std::string error = text != nullptr ? text : "no reason given";
  const bool symbols = error.find("undefined symbol") != std::string::npos;
  throw Refusal{symbols ? STATOR_TORCH_VERSION : STATOR_INTERNAL,
                file + " does not load with the LibTorch in " + torch.path + ": " + error};
}

const void *const *table_of(void *core, const std::string &file) {
  auto *get_table = reinterpret_cast<decltype(&stator_core_table)>(dlsym(core, "stator_core_table"));
  int32_t count = 0;
  const void *const *functions = get_table != nullptr ? get_table(&services, &count) : nullptr;
  if (functions == nullptr || count != kCoreCount) {
    throw Refusal{STATOR_INTERNAL, file + " is of another build than libstator.so: install both from one package"};
  }
  return functions;
}

void fill_page(const void *const *functions) {
  const size_t bytes = kCoreCount * sizeof(void *);  // mmap and madvise round up to pages
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  if (madvise(memory, bytes, MADV_WIPEONFORK) != 0) {
    munmap(memory, bytes);
    return;
  }
  std::memcpy(memory, functions, bytes);
  page.store(static_cast<const void *const *>(memory), std::memory_order_release);
}

void open_now(const std::string &torch_folder) {
  const std::string folder = own_folder();
  const std::string file = folder + "/" STATOR_CORE_FILE;
  if (access(file.c_str(), R_OK) != 0) {
    throw Refusal{STATOR_NOT_FOUND,
                  file + " is missing: it belongs beside libstator.so, install both from one package"};
  }
  const Torch torch = open_torch(torch_folder, folder, wanted_torch());
  std::free(const_cast<char *>(services.torch_path));  // of an attempt that failed later
  services = {
      .table_id = STATOR_TABLE_ID,
      .status_make =
          [](int32_t code, const char *message, const char *op, const char *node, const char *source,
             const char *argument,
             const char *exception) { return make_status(code, message, op, node, source, argument, exception); },
      .status_release = stator_status_release,
      .forked = []() -> int32_t { return front::forked() ? 1 : 0; },
      .dtype_name = stator_dtype_name,
      .status_name = stator_status_name,
      .version = STATOR_VERSION_STRING,
      .torch_path = strdup(torch.path.c_str()),  // for the life of the process
      .torch_version = {torch.version[0], torch.version[1], torch.version[2]},
  };
  const void *const *functions = table_of(open_core_library(file, torch), file);
  fill_page(functions);
  table.store(functions, std::memory_order_release);
}

// `opener` is set before the lock is taken, so that a child forked by another thread meanwhile is told, and does not wait for a lock
// whose owner it lacks.
void open(const std::string &torch_folder) {
  if (forked()) {
    throw Refusal{
        STATOR_FORKED,
        "this process was forked after LibTorch was loaded, and LibTorch does not survive that. "
        "Fork before the first use of Stator, or start the child with exec (in Python: the \"spawn\" method)."};
  }
  if (table.load(std::memory_order_acquire) != nullptr) return;
  opener.store(getpid());
  const std::lock_guard lock(opening);
  if (table.load(std::memory_order_acquire) != nullptr) return;
  opener.store(getpid());
  try {
    open_now(torch_folder);
  } catch (...) {
    opener.store(0);
    throw;
  }
}

stator_status *status_of_open(const std::string &torch_folder) noexcept {
  try {
    open(torch_folder);
    return nullptr;
  } catch (const Refusal &refusal) {
    return make_status(refusal.code, refusal.message.c_str());
  } catch (const std::bad_alloc &) {
    return make_status(STATOR_OUT_OF_MEMORY, "no memory left while LibTorch was being loaded");
  } catch (const std::exception &error) {
    return make_status(STATOR_INTERNAL, error.what());
  } catch (...) {
    return make_status(STATOR_INTERNAL, "an unknown exception while LibTorch was being loaded");
  }
}

}  // namespace

constinit std::atomic<const void *const *> page{kEmptyPage};

bool forked() noexcept {
  const void *const *entries = page.load(std::memory_order_acquire);
  if (entries != kEmptyPage) return entries[0] == nullptr;
  const pid_t process = opener.load();
  return process != 0 && process != getpid();
}

const void *core_if_open(int index) noexcept {
  const void *const *functions = table.load(std::memory_order_acquire);
  return functions != nullptr ? functions[index] : nullptr;
}

const void *open_core(int index, stator_status **refused) noexcept {
  *refused = status_of_open("");
  return *refused == nullptr ? core_if_open(index) : nullptr;
}

stator_status *open_core_with(const char *torch_folder) noexcept {
  if (torch_folder == nullptr || torch_folder[0] == '\0') {
    return make_status(STATOR_INVALID_ARGUMENT,
                       "stator_torch_load: path is NULL or empty; expected the folder of LibTorch", nullptr, nullptr,
                       nullptr, "path");
  }
  try {
    return status_of_open(torch_folder);
  } catch (const std::bad_alloc &) {  // the copy of the path
    return make_status(STATOR_OUT_OF_MEMORY, "no memory left");
  }
}

}  // namespace stator::front
