#include "options.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

#include "graph/error.h"

namespace stator::capi {
namespace {

enum Call : unsigned { kLoad = 1, kRuntime = 2, kPool = 4 };

struct Key {
  std::string_view name;
  size_t type;  // index in Setting
  unsigned calls;
};

constexpr size_t kInt = 0;
constexpr size_t kString = 2;
constexpr std::array<const char*, 3> kTypeNames{"a whole number (stator_options_set_int)",
                                                "a real number (stator_options_set_double)",
                                                "a text (stator_options_set_str)"};

constexpr std::array<Key, 12> kKeys{{
    {"weights", kString, kLoad},
    {"signature", kString, kLoad},
    {"memory_planner", kString, kLoad},
    {"plans", kString, kLoad},
    {"strict", kString, kLoad},
    {"name", kString, kLoad},
    {"intra_op_threads", kInt, kRuntime | kPool},
    {"inter_op_threads", kInt, kRuntime | kPool},
    {"latencies", kString, kRuntime | kPool},
    {"memory_limit_bytes", kInt, kLoad | kRuntime | kPool},
    {"state", kString, kRuntime | kPool},
    {"max_runtimes", kInt, kPool},
}};

const Key* find_key(std::string_view name) {
  auto it = std::find_if(kKeys.begin(), kKeys.end(), [&](const Key& key) { return key.name == name; });
  return it == kKeys.end() ? nullptr : &*it;
}

// Levenshtein's distance.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::kInvalidArgument, message); }

void check_keys(const stator_options* options, Call call, const char* name) {
  if (!options) return;
  if (options->launcher && !(call & (kRuntime | kPool))) refuse(std::string(name) + " takes no launcher");
  for (auto& [key, value] : options->settings) {
    if (find_key(key)->calls & call) continue;
    std::string taken;
    for (const Key& known : kKeys) {
      if (known.calls & call) taken += (taken.empty() ? "\"" : ", \"") + std::string(known.name) + "\"";
    }
    refuse("option \"" + key + "\" is not one of " + name + "; it takes " + taken);
  }
}

template <class T>
const T* setting(const stator_options* options, const char* key) {
  if (!options) return nullptr;
  auto found = options->settings.find(key);
  return found == options->settings.end() ? nullptr : &std::get<T>(found->second);
}

// One of two words.
bool choose(const stator_options* options, const char* key, const char* no, const char* yes) {
  const auto* value = setting<std::string>(options, key);
  if (!value || *value == no) return false;
  if (*value == yes) return true;
  refuse(std::string("option \"") + key + "\": expected \"" + no + "\" or \"" + yes + "\", got \"" + *value + "\"");
}

int whole_number(const stator_options* options, const char* key, int64_t least, int64_t most, int otherwise) {
  const auto* value = setting<int64_t>(options, key);
  if (!value) return otherwise;
  if (*value < least || *value > most) {
    refuse(std::string("option \"") + key + "\": expected " + std::to_string(least) + " to " + std::to_string(most) +
           ", got " + std::to_string(*value));
  }
  return static_cast<int>(*value);
}

// 0 without one.
int64_t memory_limit(const stator_options* options) {
  const auto* value = setting<int64_t>(options, "memory_limit_bytes");
  if (value && *value < 1) refuse("option \"memory_limit_bytes\": expected at least 1, got " + std::to_string(*value));
  return value ? *value : 0;
}

PlannerKind planner(const stator_options* options) {
  const auto* value = setting<std::string>(options, "memory_planner");
  if (!value || *value == "standard") return PlannerKind::kStandard;
  if (*value == "naive") return PlannerKind::kNaive;
  if (*value == "none") return PlannerKind::kNone;
  refuse(R"(option "memory_planner": expected "standard", "naive" or "none", got ")" + *value + "\"");
}

void read_plans(const stator_options* options, ModuleOptions& out) {
  const auto* value = setting<std::string>(options, "plans");
  out.signature_plans = !value || *value != "dynamic";
  out.plans_at_once = value && *value == "eager";
  if (!value || *value == "signature" || *value == "eager" || *value == "dynamic") return;
  refuse(R"(option "plans": expected "signature", "eager" or "dynamic", got ")" + *value + "\"");
}

RuntimeOptions read_runtime_options(const stator_options* options) {
  RuntimeOptions out;
  out.intra_op_threads = whole_number(options, "intra_op_threads", 1, 4096, 0);
  out.memory_limit = memory_limit(options);
  out.latencies = !choose(options, "latencies", "on", "off");
  out.inter_op_threads = whole_number(options, "inter_op_threads", 0, 4096, -1);
  if (options) out.launcher = options->launcher;
  if (setting<std::string>(options, "state"))
    out.state = choose(options, "state", "private", "shared") ? StateSharing::kShared : StateSharing::kPrivate;
  return out;
}

}  // namespace

void check_setting(const std::string& key, const stator_options::Setting& value) {
  const Key* known = find_key(key);
  if (!known) {
    auto nearest = std::min_element(kKeys.begin(), kKeys.end(), [&](const Key& a, const Key& b) {
      return distance(key, a.name) < distance(key, b.name);
    });
    refuse("unknown option \"" + key + "\"; did you mean \"" + std::string(nearest->name) + "\"?");
  }
  if (known->type != value.index())
    refuse("option \"" + key + "\": expected " + kTypeNames[known->type] + ", got " + kTypeNames[value.index()]);
}

ModuleOptions module_options(const stator_options* options) {
  check_keys(options, kLoad, "stator_module_load");
  ModuleOptions out;
  if (setting<std::string>(options, "weights")) out.map_weights = choose(options, "weights", "copy", "map");
  out.planner = planner(options);
  out.memory_limit = memory_limit(options);
  read_plans(options, out);
  if (const auto* text = setting<std::string>(options, "signature")) out.signature = *text;
  if (const auto* text = setting<std::string>(options, "name")) out.name = *text;
  out.strict = choose(options, "strict", "off", "on");
  if (out.strict && out.signature.empty())
    refuse("option \"strict\" needs option \"signature\": the shapes that the method is to run on");
  if (out.strict && (!out.signature_plans || out.memory_limit > 0))
    refuse("option \"strict\" excludes \"plans\" = \"dynamic\" and \"memory_limit_bytes\"");
  return out;
}

RuntimeOptions runtime_options(const stator_options* options) {
  check_keys(options, kRuntime, "stator_runtime_create");
  return read_runtime_options(options);
}

PoolOptions pool_options(const stator_options* options) {
  check_keys(options, kPool, "stator_pool_create");
  PoolOptions out;
  out.runtime = read_runtime_options(options);
  if (out.runtime.intra_op_threads == 0) out.runtime.intra_op_threads = 1;
  if (out.runtime.inter_op_threads < 0) out.runtime.inter_op_threads = 0;
  out.max_runtimes = whole_number(options, "max_runtimes", 1, 65535, 128);
  return out;
}

void no_options(const stator_options* options, const char* call) {
  if (options && options->launcher) refuse(std::string(call) + " takes no launcher");
  if (options && !options->settings.empty())
    refuse(std::string(call) + " takes no options, got \"" + options->settings.begin()->first + "\"");
}

}  // namespace stator::capi
