#include "frontend/load.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "frontend/export/load.h"
#include "frontend/planned/load.h"
#include "frontend/planned/records.h"
#include "frontend/torchscript/load.h"

namespace stator {
namespace {

constexpr const char* kExpected = "expected an archive of torch.jit.save or torch.export.save, got ";
constexpr const char* kSaveEither = "save the model with torch.export.save or torch.jit.save";

enum class Kind : uint8_t { kTorchScript, kExport, kPlanned, kInductor, kExecuTorch, kValues, kUnknown };

// Reads a file by private pages: what is never touched is never read.
ArchiveBytes map_file(const std::string& path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    auto code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
    throw Error(code, "cannot open \"" + path + "\": " + std::strerror(errno));
  }
  struct stat status{};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(fd);
    throw Error(ErrorCode::kIo, "cannot read \"" + path + "\": it is no regular file");
  }
  auto size = static_cast<size_t>(status.st_size);
  if (size == 0) {
    ::close(fd);
    throw Error(ErrorCode::kBadModel, "\"" + path + "\" is empty");
  }
  void* pages = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  int failure = errno;
  ::close(fd);
  if (pages == MAP_FAILED) throw Error(ErrorCode::kIo, "cannot map \"" + path + "\": " + std::strerror(failure));
  return {std::shared_ptr<const void>(pages, [size](const void* p) { ::munmap(const_cast<void*>(p), size); }), size};
}

bool is_executorch(std::span<const char> bytes) {
  constexpr size_t kIdentifier = 4;  // of a FlatBuffers file: behind the offset of its root
  return bytes.size() >= kIdentifier + 4 && std::memcmp(bytes.data() + kIdentifier, "ET", 2) == 0;
}

Kind kind_of(const std::vector<ArchiveMember>& members) {
  const std::string& first = members.empty() ? std::string() : members[0].name;
  const std::string root = first.substr(0, first.find('/') == std::string::npos ? 0 : first.find('/') + 1);
  bool program = false, values = false;
  for (const ArchiveMember& member : members) {
    const std::string_view name = std::string_view(member.name).substr(member.name.starts_with(root) ? root.size() : 0);
    if (name == planned::kManifest) return Kind::kPlanned;
    if (name == "constants.pkl") return Kind::kTorchScript;
    if (name.starts_with("data/aotinductor/")) return Kind::kInductor;
    if (name.starts_with("data/executorch/")) return Kind::kExecuTorch;
    program |= name == "archive_format" || name.starts_with("models/") || name == "serialized_exported_program.json";
    values |= name == "data.pkl";
  }
  return program ? Kind::kExport : values ? Kind::kValues : Kind::kUnknown;
}

[[noreturn]] void refuse(Kind kind) {
  const std::string expected = kExpected, advice = kSaveEither;
  switch (kind) {
    case Kind::kInductor:
      throw Error(ErrorCode::kUnsupported,
                  expected +
                      "an AOTInductor package: it holds code compiled for one machine; save the "
                      "program itself with torch.export.save");
    case Kind::kExecuTorch:
      throw Error(ErrorCode::kUnsupported,
                  expected + "an ExecuTorch program; save the program it was made of with torch.export.save");
    case Kind::kValues:
      throw Error(ErrorCode::kBadModel, expected + "a file of torch.save: it holds values but no program; " + advice);
    default:
      throw Error(ErrorCode::kBadModel, expected + "a zip archive that holds no model");
  }
}

// Messages quote damaged files.
std::string printable(std::string message) {
  for (char& c : message) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n') || byte >= 0x7f) c = '?';
  }
  return message;
}

Program load_archive(const ArchiveBytes& bytes, std::optional<bool> borrow) {
  constexpr size_t kSmallestZip = 22;
  if (is_executorch(bytes.span())) refuse(Kind::kExecuTorch);
  if (bytes.size < kSmallestZip || std::memcmp(bytes.data.get(), "PK", 2) != 0) {
    throw Error(ErrorCode::kBadModel, kExpected + std::to_string(bytes.size) + " bytes that are no zip archive");
  }
  switch (const Kind kind = kind_of(archive_members(bytes.span()))) {
    case Kind::kTorchScript:
      return load_torchscript(bytes, borrow.value_or(false));
    case Kind::kExport:
      return load_export(bytes, borrow.value_or(false));
    case Kind::kPlanned:
      return load_planned(bytes, borrow.value_or(true));
    default:
      refuse(kind);
  }
}

Program load_printable(const ArchiveBytes& bytes, std::optional<bool> borrow) {
  try {
    return load_archive(bytes, borrow);
  } catch (Error& error) {
    error.message = printable(std::move(error.message));
    throw;
  }
}

}  // namespace

Program load_model_bytes(const ArchiveBytes& bytes, bool borrow) { return load_printable(bytes, borrow); }

Program load_model_file(const std::string& path, std::optional<bool> map) {
  ArchiveBytes bytes = map_file(path);
  try {
    return load_printable(bytes, map);
  } catch (Error& error) {
    error.message = "\"" + path + "\": " + error.message;
    throw;
  }
}

}  // namespace stator
