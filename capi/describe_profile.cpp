#include "describe_profile.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "describe.h"
#include "profile/report.h"

namespace stator::capi {
namespace {

using Json = nlohmann::ordered_json;

std::string operator_of(const MethodTimes& times, const NodeTime& time) {
  return time.node == kNoNode ? "(clearing values)" : times.plan->nodes[time.node].node->display_name();
}

std::string kind_of(const MethodTimes& times, const NodeTime& time) {
  return time.node == kNoNode ? "control" : node_kind(times.plan->nodes[time.node], time.bound);
}

std::string number_of(const NodeTime& time) { return time.node == kNoNode ? "" : std::to_string(time.node); }

std::string source_of(const MethodTimes& times, const NodeTime& time) {
  return time.node == kNoNode ? "" : times.plan->nodes[time.node].node->source.str();
}

struct OperatorTime {
  std::string name;
  std::string kind;
  int64_t nodes = 0;
  int64_t calls = 0;
  double nanoseconds = 0;
};

bool slower(const auto& a, const auto& b) { return a.nanoseconds > b.nanoseconds; }

// Slowest first.
std::vector<OperatorTime> by_operator(const MethodTimes& times) {
  std::map<std::pair<std::string, std::string>, OperatorTime> found;
  for (const NodeTime& time : times.nodes) {
    std::pair key{operator_of(times, time), kind_of(times, time)};
    OperatorTime& sum = found[key];
    sum.name = key.first;
    sum.kind = key.second;
    ++sum.nodes;
    sum.calls += time.calls;
    sum.nanoseconds += time.nanoseconds;
  }
  std::vector<OperatorTime> out;
  for (auto& [key, sum] : found) out.push_back(std::move(sum));
  std::stable_sort(out.begin(), out.end(), slower<OperatorTime, OperatorTime>);
  return out;
}

double in_nodes(const MethodTimes& times) {
  double sum = 0;
  for (const NodeTime& time : times.nodes) sum += time.nanoseconds;
  return sum;
}

int64_t whole(double nanoseconds) { return static_cast<int64_t>(nanoseconds + 0.5); }

std::string formatted(const char* format, double value) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

// Columns of numbers, to the right, then columns of text, to the left.
class Table {
 public:
  Table(size_t numbers, std::vector<std::string> header) : numbers_(numbers), rows_{std::move(header)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string str() const {
    std::vector<size_t> widths(rows_[0].size(), 0);
    for (const auto& row : rows_) {
      for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::string out;
    for (const auto& row : rows_) {
      std::string line;
      for (size_t i = 0; i < row.size(); ++i) {
        const std::string space(widths[i] - row[i].size(), ' ');
        line += (i ? "  " : "") + (i < numbers_ ? space + row[i] : row[i] + space);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + '\n';
    }
    return out;
  }

 private:
  size_t numbers_;
  std::vector<std::vector<std::string>> rows_;
};

// us a run, share of the time in nodes, calls a run, ns a call
std::vector<std::string> figures(const MethodTimes& times, double all, double nanoseconds, int64_t calls) {
  const double runs = std::max<double>(1, static_cast<double>(times.runs));
  return {formatted("%.3f", nanoseconds / 1e3 / runs), formatted("%.1f %%", all > 0 ? 100 * nanoseconds / all : 0),
          formatted("%.4g", static_cast<double>(calls) / runs),
          formatted("%.0f", nanoseconds / std::max<double>(1, static_cast<double>(calls)))};
}

std::string method_text(const StaticModule& module, const MethodTimes& times) {
  const double all = in_nodes(times);
  std::string out = module.methods()[times.method]->name() + ": " + std::to_string(times.runs) + " runs";
  if (times.runs > 0 && times.nanoseconds > 0)
    out += formatted(", %.3f us a run", times.nanoseconds / 1e3 / static_cast<double>(times.runs)) +
           formatted(", %.1f %% of it in nodes", 100 * all / times.nanoseconds);
  const auto row = [](std::vector<std::string> figures, std::vector<std::string> texts) {
    figures.insert(figures.end(), texts.begin(), texts.end());
    return figures;
  };
  const std::vector<std::string> titles{"us/run", "share", "calls/run", "ns/call"};
  Table operators(5, row(titles, {"nodes", "kind", "operator"}));
  for (const OperatorTime& sum : by_operator(times))
    operators.add(
        row(figures(times, all, sum.nanoseconds, sum.calls), {std::to_string(sum.nodes), sum.kind, sum.name}));
  Table nodes(5, row(titles, {"node", "kind", "operator", "source"}));
  std::vector<NodeTime> sorted = times.nodes;
  std::stable_sort(sorted.begin(), sorted.end(), slower<NodeTime, NodeTime>);
  for (const NodeTime& time : sorted)
    nodes.add(row(figures(times, all, time.nanoseconds, time.calls),
                  {number_of(time), kind_of(times, time), operator_of(times, time), source_of(times, time)}));
  return out + "\n\nby operator\n" + operators.str() + "\nby node\n" + nodes.str();
}

Json method_json(const StaticModule& module, const MethodTimes& times) {
  Json operators = Json::array();
  for (const OperatorTime& sum : by_operator(times)) {
    operators.push_back({{"operator", sum.name},
                         {"kind", sum.kind},
                         {"nodes", sum.nodes},
                         {"calls", sum.calls},
                         {"total_ns", whole(sum.nanoseconds)}});
  }
  Json nodes = Json::array();
  for (const NodeTime& time : times.nodes) {
    nodes.push_back({{"node", number_of(time)},
                     {"operator", operator_of(times, time)},
                     {"kind", kind_of(times, time)},
                     {"calls", time.calls},
                     {"total_ns", whole(time.nanoseconds)},
                     {"source", source_of(times, time)}});
  }
  return {{"method", module.methods()[times.method]->name()},
          {"runs", times.runs},
          {"total_ns", whole(times.nanoseconds)},
          {"operators", operators},
          {"nodes", nodes}};
}

Json event_json(const StaticModule& module, const ProfileEvent& event) {
  const double microseconds = nanoseconds_per_tick() / 1e3;
  const StaticMethod& method = *module.methods()[event.method];
  Json out{{"name", method.name()}, {"cat", "run"}, {"ph", "X"}, {"pid", 1}, {"tid", 1}};
  if (event.pc != kWholeRun) {
    const Plan& plan = method.plan();
    const MethodTimes times{.method = event.method, .plan = &plan, .runs = 0, .nanoseconds = 0, .nodes = {}};
    const NodeTime time{.node = plan.code[event.pc].node, .bound = event.bound, .calls = 0, .nanoseconds = 0};
    out["name"] = operator_of(times, time);
    out["cat"] = kind_of(times, time);
    out["args"] = {{"node", number_of(time)}, {"source", source_of(times, time)}};
  }
  out["ts"] = static_cast<double>(event.start) * microseconds;
  out["dur"] = static_cast<double>(event.length) * microseconds;
  return out;
}

// The text of a model may be no UTF-8.
std::string dump(const Json& json, int indent) { return json.dump(indent, ' ', false, Json::error_handler_t::replace); }

}  // namespace

std::string profile_text(const StaticModule& module, const Profile& profile) {
  std::string out;
  for (const MethodTimes& method : times(profile)) out += (out.empty() ? "" : "\n") + method_text(module, method);
  return out.empty() ? "no runs yet\n" : out;
}

std::string profile_json(const StaticModule& module, const Profile& profile) {
  Json methods = Json::array();
  for (const MethodTimes& method : times(profile)) methods.push_back(method_json(module, method));
  return dump({{"methods", methods}}, 2);
}

std::string profile_trace(const StaticModule& module, const Profile& profile) {
  Json events = Json::array();
  for (const ProfileEvent& event : profile.events().seen()) events.push_back(event_json(module, event));
  return dump({{"traceEvents", events}, {"displayTimeUnit", "ns"}}, -1);
}

}  // namespace stator::capi
