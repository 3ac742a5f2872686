// How a model that meets many shapes fares beside one that meets only one of them. tests/bench/lengths.py makes the models and starts this.
//
//   stator_lengths TORCH MODEL TYPE LENGTHS PASSES      e.g. .../site-packages/torch model.pt 'x: float32[1, *, 64]' 1000 4
//
// One module meets the lengths 1 to LENGTHS, each once a pass, in random order; another is warmed up for a length and runs it alone. They take
// turns of 20 lengths. All times are of the thread's processor time, so that what else the machine does counts less. Prints a line of JSON.
#include <stator/stator.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr int kLengthsInTurn = 20;
constexpr int kRunsAlone = 5;

void check(stator_status* status) {
  if (!status) return;
  const std::string message = stator_status_message(status);
  stator_status_release(status);
  throw std::runtime_error(message);
}

int64_t nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

int64_t resident_kb() {
  std::ifstream status("/proc/self/status");
  std::string word;
  int64_t kb = 0;
  while (status >> word)
    if (word == "VmRSS:" && status >> kb) return kb;
  return 0;
}

// "ids: int64[1, *]", the star being the length.
class Input {
 public:
  explicit Input(const std::string& text) : text_(text) {
    std::smatch parts;
    if (!std::regex_match(text, parts, std::regex(R"((\w+): (float32|int64)\[([\d*, ]+)\])")))
      throw std::runtime_error("what is \"" + text + "\"?");
    is_float_ = parts[2] == "float32";
    const std::string sizes = parts[3];
    const std::regex size(R"(\d+|\*)");
    for (std::sregex_iterator i(sizes.begin(), sizes.end(), size), end; i != end; ++i)
      sizes_.push_back(i->str() == "*" ? -1 : std::stoll(i->str()));
  }

  std::string of_length(int64_t length) const {
    return std::regex_replace(text_, std::regex(R"(\*)"), std::to_string(length));
  }

  void make_room(int64_t length) {
    int64_t count = 1;
    for (int64_t size : sizes_) count *= size < 0 ? length : size;
    floats_.resize(is_float_ ? count : 0);
    numbers_.resize(is_float_ ? 0 : count);
    for (size_t i = 0; i < floats_.size(); ++i) floats_[i] = std::sin(0.7F * static_cast<float>(i));
    for (size_t i = 0; i < numbers_.size(); ++i) numbers_[i] = static_cast<int64_t>(i * 7 % 97);
  }

  void bind(stator_runtime* runtime, const stator_method* method, int64_t length) {
    std::vector<int64_t> sizes = sizes_;
    std::replace(sizes.begin(), sizes.end(), int64_t{-1}, length);
    void* data = is_float_ ? static_cast<void*>(floats_.data()) : static_cast<void*>(numbers_.data());
    check(stator_runtime_bind(runtime, method, 0, data, is_float_ ? STATOR_FLOAT32 : STATOR_INT64, STATOR_CPU,
                              static_cast<int32_t>(sizes.size()), sizes.data(), nullptr));
  }

 private:
  std::string text_;
  bool is_float_ = true;
  std::vector<int64_t> sizes_;
  std::vector<float> floats_;
  std::vector<int64_t> numbers_;
};

class Model {
 public:
  explicit Model(const char* path) {
    check(stator_module_load(path, nullptr, &module_));
    check(stator_module_find_method(module_, "forward", &forward_));
    stator_options* options = nullptr;
    check(stator_options_create(&options));
    check(stator_options_set_int(options, "intra_op_threads", 1));
    check(stator_runtime_create(module_, options, &runtime_));
    stator_options_release(options);
    check(stator_arena_create(module_, nullptr, &arena_));
  }
  ~Model() {
    stator_arena_release(arena_);
    stator_runtime_release(runtime_);
    stator_module_release(module_);
  }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  void warm_up(const std::string& signature) {
    check(stator_module_warm_up(module_, forward_, signature.c_str(), nullptr));
  }
  double run(Input& input, int64_t length) {
    input.bind(runtime_, forward_, length);
    const int64_t start = nanoseconds();
    check(stator_runtime_run(runtime_, forward_, arena_));
    return static_cast<double>(nanoseconds() - start);
  }
  nlohmann::json metrics() const {
    stator_bytes* bytes = nullptr;
    check(stator_module_metrics(module_, &bytes));
    const auto out = nlohmann::json::parse(
        std::string_view(static_cast<const char*>(stator_bytes_data(bytes)), stator_bytes_size(bytes)));
    stator_bytes_release(bytes);
    return out;
  }

 private:
  stator_module* module_ = nullptr;
  const stator_method* forward_ = nullptr;
  stator_runtime* runtime_ = nullptr;
  stator_arena* arena_ = nullptr;
};

struct Run {
  int64_t length;
  double time;
};

// Times over the least that the length took alone.
nlohmann::json ratios(const std::vector<Run>& runs, const std::vector<double>& alone) {
  std::vector<double> out;
  for (const Run& run : runs) out.push_back(run.time / alone[run.length]);
  std::sort(out.begin(), out.end());
  const auto at = [&](double part) { return out[static_cast<size_t>(part * static_cast<double>(out.size() - 1))]; };
  return {{"p50", at(0.5)}, {"p90", at(0.9)}, {"p99", at(0.99)}, {"most", out.back()}};
}

// The same of each length's median: what is slow for a length each time, without what the machine does now and then.
nlohmann::json ratios_by_length(const std::vector<Run>& runs, const std::vector<double>& alone) {
  std::vector<std::vector<double>> times(alone.size());
  for (const Run& run : runs) times[run.length].push_back(run.time);
  std::vector<Run> medians;
  for (size_t length = 0; length < times.size(); ++length) {
    std::vector<double>& all = times[length];
    if (all.empty()) continue;
    std::sort(all.begin(), all.end());
    medians.push_back({static_cast<int64_t>(length), all[all.size() / 2]});
  }
  return ratios(medians, alone);
}

nlohmann::json measure(const char* path, Input input, int64_t lengths, int passes) {
  Model many(path), single(path);
  input.make_room(lengths);
  many.run(input, lengths);
  many.run(input, 1);
  std::vector<int64_t> order(lengths);
  for (int64_t i = 0; i < lengths; ++i) order[i] = i + 1;
  std::mt19937 engine(7);
  std::vector<Run> changing, fixed;
  std::vector<double> alone(lengths + 1, std::numeric_limits<double>::infinity());
  std::vector<int64_t> resident;
  for (int pass = 0; pass < passes; ++pass) {
    std::shuffle(order.begin(), order.end(), engine);
    for (int64_t first = 0; first < lengths; first += kLengthsInTurn) {
      const int64_t end = std::min(first + kLengthsInTurn, lengths);
      many.run(input, order[first]);  // the other one's turn has emptied caches
      for (int64_t i = first; i < end; ++i) changing.push_back({order[i], many.run(input, order[i])});
      for (int64_t i = first; i < end; ++i) {
        const int64_t length = order[i];
        single.warm_up(input.of_length(length));
        single.run(input, length);
        for (int run = 0; run < kRunsAlone; ++run) {
          fixed.push_back({length, single.run(input, length)});
          alone[length] = std::min(alone[length], fixed.back().time);
        }
      }
    }
    resident.push_back(resident_kb());
  }
  const std::vector<Run> settled(changing.begin() + changing.size() / 2, changing.end());
  const nlohmann::json metrics = many.metrics();
  return {{"changing", ratios(changing, alone)},
          {"settled", ratios(settled, alone)},
          {"by_length", ratios_by_length(settled, alone)},
          {"fixed", ratios(fixed, alone)},
          {"shortest_us", alone[1] / 1e3},
          {"longest_us", alone[lengths] / 1e3},
          {"resident_kb", resident},
          {"metrics", metrics}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: %s TORCH MODEL TYPE LENGTHS PASSES\n", argv[0]);
    return 2;
  }
  try {
    check(stator_torch_load(argv[1]));
    std::cout << measure(argv[2], Input(argv[3]), std::stoll(argv[4]), std::stoi(argv[5])).dump() << std::endl;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
