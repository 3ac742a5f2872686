#include <iostream>

#include "commands.h"
#include "print.h"

namespace cli {
namespace {

// What the file or the option `signature` declares of a tensor: float32[?, 1, 32].
std::string declared(const Json& entry) {
  if (!entry.contains("dtype") && !entry.contains("shape")) return "";
  const std::string dtype = entry.value("dtype", "any dtype");
  if (!entry.contains("shape")) return dtype;
  std::vector<int64_t> shape;
  for (const Json& size : entry.at("shape")) shape.push_back(size.is_null() ? -1 : size.get<int64_t>());
  return format_tensor_type(dtype, shape);
}

// Of sizes that are not fixed, what the file says: dimension 0: s0, 2 to 64.
std::string dynamic_text(const Json& input) {
  std::string out;
  if (!input.contains("dynamic")) return out;
  for (const Json& entry : input.at("dynamic")) {
    out += (out.empty() ? "" : "; ") + ("dimension " + std::to_string(entry.at("dimension").get<int64_t>()));
    out += ": " + entry.at("size").get<std::string>();
    if (entry.contains("least") && entry.contains("most")) {
      out += ", " + std::to_string(entry.at("least").get<int64_t>()) + " to " +
             std::to_string(entry.at("most").get<int64_t>());
    } else if (entry.contains("least") && entry.at("least") > 0) {
      out += ", at least " + std::to_string(entry.at("least").get<int64_t>());
    }
  }
  return out;
}

std::string note_of(const Json& input) {
  std::string note = input.value("written", false) ? "written by the method" : "";
  const std::string dynamic = dynamic_text(input);
  return note + (note.empty() || dynamic.empty() ? "" : "; ") + dynamic;
}

std::string outputs_text(const Json& method) {
  std::string result;
  for (const Json& output : method.at("outputs")) {
    result += (result.empty() ? "" : ", ") +
              (output.contains("name") ? output.at("name").get<std::string>() + ": " : "") +
              output.at("type").get<std::string>();
  }
  if (result.empty()) return "None";
  return method.at("outputs").size() > 1 ? "(" + result + ")" : result;
}

void print_method(const Json& method) {
  std::cout << '\n' << method.at("name").get<std::string>() << " -> " << outputs_text(method) << '\n';
  Table table({"input", "type", "default", "declared", "note"});
  for (const Json& input : method.at("inputs")) {
    table.add({input.at("name"), input.at("type"), input.value("default", ""), declared(input), note_of(input)});
  }
  std::cout << (table.empty() ? "  no inputs\n" : table.str("  "));
  if (method.contains("unsupported"))
    std::cout << "  cannot run: " << method.at("unsupported").get<std::string>() << '\n';
  if (method.at("output_count") == -1) std::cout << "  the number of output tensors depends on the run\n";
}

void print_planned(const Json& planned) {
  std::cout << "planned by Stator " << planned.at("stator").get<std::string>() << " on LibTorch "
            << planned.at("torch").get<std::string>() << " for " << planned.at("cpu_capability").get<std::string>()
            << ": " << plural(planned.at("restored").get<int64_t>(), "plan") << " ready";
  if (!planned.at("outdated").is_null())
    std::cout << ", " << planned.at("made_anew") << " made anew: " << planned.at("outdated").get<std::string>();
  std::cout << '\n';
}

}  // namespace

void inspect(const Common& common) {
  const Module module = load_module(common);
  const Json description = parse_json(text_of(stator_module_describe, module.get()), "stator_module_describe");
  if (common.json) return print_json(description);

  const std::string format = description.at("format");
  std::cout << common.model << ": "
            << (format == "torchscript" ? "TorchScript"
                : format == "export"    ? "torch.export"
                                        : format)
            << ", " << format_bytes(description.at("weights_bytes")) << " of weights, "
            << plural(std::ssize(description.at("methods")), "method") << '\n';
  if (description.contains("planned")) print_planned(description.at("planned"));
  if (description.at("training")) std::cout << "file was saved in training mode: runs in eval mode\n";
  for (const Json& method : description.at("methods")) print_method(method);

  Table state({"state", "type", "declared"});
  for (const Json& slot : description.at("state")) state.add({slot.at("name"), slot.at("type"), declared(slot)});
  if (state.empty()) {
    std::cout << "\nno state: runs do not depend on each other\n";
  } else {
    std::cout << "\nstate that runs change, one copy per runtime:\n" << state.str("  ");
  }
  std::cout << std::flush;
}

}  // namespace cli
