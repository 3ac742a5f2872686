#include "values/npz.h"

#include <ATen/ops/empty_strided.h>

#include <cstring>
#include <unordered_set>

#include "graph/error.h"
#include "values/npy.h"
#include "values/zip.h"

namespace stator {
namespace {

constexpr std::string_view kSuffix = ".npy";
constexpr uint64_t kMaxHeader = 1 << 20;

std::string describe(const std::string& path, const std::string& name) { return path + ": array \"" + name + "\""; }

bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<uint8_t>(text[i++]);
    const int more = lead < 0x80                   ? 0
                     : lead >= 0xc2 && lead < 0xe0 ? 1
                     : lead >= 0xe0 && lead < 0xf0 ? 2
                     : lead >= 0xf0 && lead < 0xf5 ? 3
                                                   : -1;
    if (more < 0) return false;
    uint32_t code = more == 0 ? lead : lead & (0x3fu >> more);
    for (int k = 0; k < more; ++k, ++i) {
      if (i == text.size() || (static_cast<uint8_t>(text[i]) & 0xc0) != 0x80) return false;
      code = code << 6 | (static_cast<uint8_t>(text[i]) & 0x3fu);
    }
    if ((more == 2 && (code < 0x800 || (code >= 0xd800 && code < 0xe000))) ||
        (more == 3 && (code < 0x10000 || code > 0x10ffff)))
      return false;
  }
  return true;
}

NpyHeader read_header(ZipMemberStream& stream, const std::string& what) {
  const auto damaged = [&](const char* why) { throw Error(ErrorCode::kBadModel, what + ": " + why); };
  uint8_t start[12];
  if (stream.remaining() < sizeof start) damaged("is no .npy array: it is too short");
  stream.read(start, 8);
  if (std::memcmp(start, "\x93NUMPY", 6) != 0) damaged("is no .npy array: it does not begin as one");
  const int version = start[6];
  if (version < 1 || version > 3) {
    throw Error(ErrorCode::kUnsupported,
                what + ": is of .npy version " + std::to_string(version) + "; versions 1 to 3 can be read");
  }
  const int length_bytes = version == 1 ? 2 : 4;
  stream.read(start + 8, length_bytes);
  uint64_t length = 0;
  for (int i = 0; i < length_bytes; ++i) length |= static_cast<uint64_t>(start[8 + i]) << (8 * i);
  if (length > stream.remaining() || length > kMaxHeader)
    damaged("its .npy header is damaged: it is longer than the array");
  std::string text(length, '\0');
  stream.read(text.data(), length);
  return parse_npy_header(text, what);
}

at::Tensor read_array(const ZipReader& zip, const ZipMember& member, const std::string& what) {
  ZipMemberStream stream(zip, member);
  const NpyHeader header = read_header(stream, what);
  const auto bytes = static_cast<uint64_t>(header.bytes());
  if (bytes != stream.remaining()) {
    throw Error(ErrorCode::kBadModel, what + ": is damaged: its shape needs " + std::to_string(bytes) +
                                          " bytes and the file holds " + std::to_string(stream.remaining()));
  }
  at::Tensor tensor = at::empty_strided(header.shape, header.strides(), header.dtype);
  auto* data = static_cast<uint8_t*>(tensor.mutable_data_ptr());
  stream.read(data, bytes);
  stream.finish();
  if (header.dtype == at::kBool) {
    for (uint64_t i = 0; i < bytes; ++i) data[i] = data[i] != 0;  // another byte in a bool is undefined behaviour
  }
  return tensor;
}

bool is_fortran(const at::Tensor& tensor) {
  if (tensor.is_contiguous()) return false;
  std::vector<int64_t> reversed(tensor.dim());
  for (int64_t i = 0; i < tensor.dim(); ++i) reversed[i] = tensor.dim() - 1 - i;
  return tensor.permute(reversed).is_contiguous();
}

// One array, ready to be written.
struct Prepared {
  std::string name;
  std::string header;
  at::Tensor tensor;  // its storage holds the elements in the order of the file
};

Prepared prepare(const std::string& path, const NamedTensor& array) {
  const std::string what = describe(path, array.first);
  at::Tensor tensor = array.second;
  if (!tensor.defined() || tensor.layout() != at::kStrided || !tensor.device().is_cpu()) {
    throw Error(ErrorCode::kUnsupported, what + ": only dense tensors on the CPU can be written");
  }
  tensor = tensor.detach().resolve_conj().resolve_neg();
  NpyHeader header{tensor.scalar_type(), tensor.sizes().vec(), is_fortran(tensor)};
  std::string text = format_npy_header(header, what);
  return {array.first + std::string(kSuffix), std::move(text), header.fortran_order ? tensor : tensor.contiguous()};
}

}  // namespace

std::vector<NamedTensor> read_npz(const std::string& path) {
  const ZipReader zip(path);
  std::vector<NamedTensor> result;
  std::unordered_set<std::string> names;
  for (const ZipMember& member : zip.members()) {
    if (!is_utf8(member.name))
      throw Error(ErrorCode::kUnsupported,
                  path + ": the name of array " + std::to_string(result.size()) + " is not UTF-8");
    if (!member.name.ends_with(kSuffix))
      throw Error(ErrorCode::kUnsupported, path + ": member \"" + member.name + "\" is no .npy array");
    std::string name = member.name.substr(0, member.name.size() - kSuffix.size());
    const std::string what = describe(path, name);
    if (!names.insert(name).second) throw Error(ErrorCode::kBadModel, what + ": there are two of this name");
    at::Tensor tensor;
    try {
      tensor = read_array(zip, member, what);
    } catch (const c10::Error&) {  // LibTorch's allocator
      throw Error(ErrorCode::kOutOfMemory, what + ": no memory for it");
    }
    result.emplace_back(std::move(name), std::move(tensor));
  }
  return result;
}

void write_npz(const std::string& path, std::span<const NamedTensor> arrays) {
  std::vector<Prepared> prepared;
  std::unordered_set<std::string> names;
  for (const NamedTensor& array : arrays) {
    if (!names.insert(array.first).second)
      throw Error(ErrorCode::kInvalidArgument, describe(path, array.first) + ": there are two of this name");
    prepared.push_back(prepare(path, array));
  }
  ZipWriter zip(path);
  for (const Prepared& array : prepared) {
    const auto* head = reinterpret_cast<const uint8_t*>(array.header.data());
    const auto* body = static_cast<const uint8_t*>(array.tensor.const_data_ptr());
    zip.add(array.name, {head, array.header.size()}, {body, array.tensor.nbytes()});
  }
  zip.finish();
}

}  // namespace stator
