#include "frontend/export/records.h"

#include <algorithm>

#include "graph/error.h"

namespace stator::exported {
namespace {

constexpr const char* kFlatProgram = "serialized_exported_program.json";
constexpr std::string_view kModels = "models/";
constexpr std::string_view kJson = ".json";

// LibTorch's writer puts everything into one folder.
std::string common_folder(const std::vector<ArchiveMember>& members) {
  const std::string& first = members.at(0).name;
  const size_t slash = first.find('/');
  if (slash == std::string::npos) return "";
  std::string folder = first.substr(0, slash + 1);
  const bool common = std::all_of(members.begin(), members.end(),
                                  [&](const ArchiveMember& member) { return member.name.starts_with(folder); });
  return common ? folder : "";
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return text;
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

}  // namespace

Records::Records(ArchiveBytes bytes) : bytes_(std::move(bytes)) {
  const auto members = archive_members(bytes_.span());
  if (members.empty()) throw Error(ErrorCode::kBadModel, "the archive is empty");
  const size_t folder = common_folder(members).size();
  for (const ArchiveMember& member : members) members_.emplace(member.name.substr(folder), member);
  if (has(kFlatProgram)) {
    program_ = kFlatProgram;
    pickles_ = {"serialized_state_dict.pt", "serialized_constants.pt"};
    return;
  }
  check_format();
  find_program();
}

void Records::check_format() const {
  if (trimmed(text("archive_format")) != "pt2")
    throw Error(ErrorCode::kBadModel, "the archive's format is none of torch.export");
  if (has("archive_version") && trimmed(text("archive_version")) != "0")
    throw Error(ErrorCode::kUnsupported, "the archive is of version " + std::string(trimmed(text("archive_version"))) +
                                             "; this version of Stator reads version 0");
  if (has("byteorder") && trimmed(text("byteorder")) != "little")
    throw Error(ErrorCode::kUnsupported, "the archive was written by a machine of another byte order");
}

// "model" is what torch.export.save calls it; other packages may hold several.
void Records::find_program() {
  std::vector<std::string> models;
  for (const auto& [name, member] : members_) {
    if (name.starts_with(kModels) && name.ends_with(kJson))
      models.push_back(name.substr(kModels.size(), name.size() - kModels.size() - kJson.size()));
  }
  std::sort(models.begin(), models.end());
  if (models.empty()) throw Error(ErrorCode::kBadModel, "the archive is damaged: it has no program");
  if (models.size() > 1)
    throw Error(ErrorCode::kUnsupported, "the archive holds " + std::to_string(models.size()) + " programs (" +
                                             listed(models) +
                                             "); save each in a file of its own with torch.export.save");
  const std::string& model = models[0];
  program_ = std::string(kModels) + model + std::string(kJson);
  for (const std::string kind : {"weights", "constants"}) {
    const std::string folder = "data/" + kind + "/";
    const std::string table = folder + model + "_" + kind + "_config.json", pickle = folder + model + ".pt";
    if (has(table)) tables_.push_back({folder, table});
    if (has(pickle)) pickles_.push_back(pickle);
  }
}

std::span<const char> Records::bytes(const std::string& name) const {
  auto found = members_.find(name);
  if (found == members_.end()) throw Error(ErrorCode::kBadModel, "the archive is damaged: it has no \"" + name + "\"");
  return member_bytes(bytes_.span(), found->second);
}

std::string_view Records::text(const std::string& name) const {
  const auto found = bytes(name);
  return {found.data(), found.size()};
}

}  // namespace stator::exported
