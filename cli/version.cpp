#include <iostream>

#include "commands.h"
#include "print.h"

namespace cli {

// For people the version alone, which needs no LibTorch; as JSON all that a report of a defect should hold.
void version(const std::string& torch, bool json) {
  const int32_t number = stator_abi_version();
  const std::string abi = std::to_string(number >> 16) + "." + std::to_string(number & 0xffff);
  if (!json) {
    std::cout << "stator " STATOR_VERSION_STRING ", ABI " << abi << std::endl;
    return;
  }
  Json out = {{"stator", STATOR_VERSION_STRING}, {"abi", abi}};
  try {
    load_torch(torch);
    out.update(parse_json(text_of(stator_build_info), "stator_build_info"));
  } catch (const Failure& error) {
    out["torch_error"] = error.what();
  }
  print_json(out);
}

}  // namespace cli
