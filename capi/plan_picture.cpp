#include "plan_picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <limits>
#include <vector>

#include "describe.h"
#include "memory/storage_groups.h"

namespace stator::capi {
namespace {

constexpr double kWidth = 1100;     // of a panel's drawing area
constexpr double kLeft = 90;        // for the offsets
constexpr double kTop = 64;         // for the title
constexpr double kGap = 70;         // between panels, for the axis and the next heading
constexpr double kTallest = 420;    // of the panel with more bytes
constexpr double kLowest = 40;      // of the other
constexpr double kCharacter = 6.2;  // width of a label's character
constexpr double kLabelHeight = 11;

struct Box {
  std::string name;
  int64_t bytes = 0;
  int64_t offset = 0;
  Lifetime lifetime;
  int32_t index = 0;
};

struct Panel {
  std::string title;
  int64_t bytes = 0;  // of the whole layout
  std::vector<Box> boxes;
};

[[gnu::format(printf, 1, 2)]] std::string formatted(const char* format, ...) {
  std::array<char, 256> text{};
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  return text.data();
}

std::string escaped_for_xml(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string size_text(int64_t bytes) {
  if (bytes < 1024) return formatted("%lld B", static_cast<long long>(bytes));
  double value = static_cast<double>(bytes) / 1024;
  const char* unit = "KiB";
  for (const char* next : {"MiB", "GiB"}) {
    if (value < 1024) break;
    value /= 1024;
    unit = next;
  }
  return formatted("%.4g %s", value, unit);
}

Panel make_panel(const Plan& plan, Place place, const char* title) {
  const ArenaLayout layout = plan.layout(place);
  Panel panel{.title = title, .bytes = layout.bytes, .boxes = {}};
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    const PlannedTensor& tensor = plan.tensors[i];
    const int64_t bytes = plan.observed[i].load(std::memory_order_relaxed);
    if (tensor.place != place || bytes == 0) continue;
    panel.boxes.push_back({.name = value_name(tensor.value),
                           .bytes = bytes,
                           .offset = layout.offsets[tensor.index],
                           .lifetime = tensor.lifetime,
                           .index = static_cast<int32_t>(i)});
  }
  return panel;
}

// The most bytes that are alive at one time: what no planner can go below.
int64_t peak(const std::vector<Box>& boxes) {
  int64_t most = 0;
  for (const Box& at : boxes) {
    int64_t sum = 0;
    for (const Box& box : boxes) {
      if (box.lifetime.first <= at.lifetime.first && at.lifetime.first <= box.lifetime.last) sum += align_up(box.bytes);
    }
    most = std::max(most, sum);
  }
  return most;
}

class Picture {
 public:
  Picture(const std::string& method, std::vector<Panel> panels) : method_(method), panels_(std::move(panels)) {
    int64_t most = 1;
    for (const Panel& panel : panels_) {
      most = std::max(most, panel.bytes);
      for (const Box& box : panel.boxes) {
        begin_ = std::min(begin_, box.lifetime.first);
        end_ = std::max(end_, box.lifetime.last + 1);
      }
    }
    begin_ = std::min(begin_, end_ - 1);
    per_byte_ = kTallest / static_cast<double>(most);
    per_step_ = kWidth / (end_ - begin_);
  }

  std::string draw() {
    double top = kTop;
    for (const Panel& panel : panels_) {
      draw(panel, top);
      top += height(panel) + kGap;
    }
    std::string out = formatted(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "
        "font-family=\"sans-serif\" font-size=\"11\">\n",
        kLeft + kWidth + 30, top, kLeft + kWidth + 30, top);
    out += "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
    out += "<text x=\"16\" y=\"24\" font-size=\"15\">Memory plan of " + escaped_for_xml(method_) +
           ": time to the right, offset upwards</text>\n";
    return out + body_ + "</svg>\n";
  }

 private:
  double height(const Panel& panel) const { return std::max(kLowest, static_cast<double>(panel.bytes) * scale(panel)); }
  // A panel with few bytes beside one with many is drawn larger than its share, or it would not be seen.
  double scale(const Panel& panel) const {
    return std::max(per_byte_, kLowest / static_cast<double>(std::max<int64_t>(panel.bytes, 1)));
  }

  void draw(const Panel& panel, double top) {
    const double bottom = top + height(panel);
    std::string heading = panel.title + ": ";
    heading += panel.boxes.empty() ? "no tensor that a run has made yet" : size_text(panel.bytes);
    if (!panel.boxes.empty())
      heading += formatted(", %zu tensors, at most ", panel.boxes.size()) + size_text(peak(panel.boxes)) + " at a time";
    body_ += formatted("<text x=\"%.1f\" y=\"%.1f\" font-weight=\"bold\">", kLeft, top - 8) + heading + "</text>\n";
    body_ +=
        formatted("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"#f4f4f4\" stroke=\"#999\"/>\n",
                  kLeft, top, kWidth, bottom - top);
    for (const Box& box : panel.boxes) draw(box, bottom, scale(panel));
    draw_axes(panel, top, bottom);
  }

  void draw(const Box& box, double bottom, double scale) {
    const double x = kLeft + (box.lifetime.first - begin_) * per_step_;
    const double width = (box.lifetime.last - box.lifetime.first + 1) * per_step_;
    const double height = std::max(0.5, static_cast<double>(box.bytes) * scale);
    const double y = bottom - static_cast<double>(box.offset) * scale - height;
    // Neighbours differ most if hues are the golden angle apart.
    const double hue = std::fmod(box.index * 137.508, 360.0);
    body_ += formatted(
        "<g><rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"hsl(%.0f,60%%,72%%)\" stroke=\"#444\" "
        "stroke-width=\"0.5\"/>",
        x, y, width, height, hue);
    body_ += "<title>" + escaped_for_xml(box.name) +
             formatted(": %lld bytes at offset %lld, alive from %d to %d</title>", static_cast<long long>(box.bytes),
                       static_cast<long long>(box.offset), box.lifetime.first, box.lifetime.last);
    if (height >= kLabelHeight) {
      const std::string both = box.name + " " + size_text(box.bytes);
      const auto fits = [&](const std::string& text) { return static_cast<double>(text.size()) * kCharacter < width; };
      const std::string label = fits(both) ? both : fits(box.name) ? box.name : "";
      if (!label.empty())
        body_ += formatted("<text x=\"%.2f\" y=\"%.2f\">", x + 3, y + std::min(height / 2, 20.0) + 4) +
                 escaped_for_xml(label) + "</text>";
    }
    body_ += "</g>\n";
  }

  void draw_axes(const Panel& panel, double top, double bottom) {
    constexpr int kTicks = 4;
    const int offsets = bottom - top >= 100 ? kTicks : 1;
    for (int i = 0; i <= offsets; ++i) {
      const double y = bottom - (bottom - top) * i / offsets;
      const auto offset = static_cast<int64_t>(static_cast<double>(panel.bytes) * i / offsets);
      body_ += formatted("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">", kLeft - 6, y + 4) + size_text(offset) +
               "</text>\n";
    }
    const int steps = std::min(end_ - begin_, 10);
    for (int i = 0; i <= steps; ++i) {
      const int at = begin_ + static_cast<int>(static_cast<int64_t>(end_ - begin_) * i / steps);
      const double x = kLeft + (at - begin_) * per_step_;
      body_ += formatted(
          "<path d=\"M%.2f %.2fv4\" stroke=\"#999\"/><text x=\"%.2f\" y=\"%.2f\" text-anchor=\"middle\">%d</text>\n", x,
          bottom, x, bottom + 16, at);
    }
  }

  std::string method_;
  std::vector<Panel> panels_;
  int32_t begin_ = std::numeric_limits<int32_t>::max();  // of time: constants come before the first tensor
  int32_t end_ = 1;
  double per_byte_ = 1;
  double per_step_ = 1;
  std::string body_;
};

}  // namespace

std::string plan_svg(const StaticMethod& method) {
  const Plan& plan = method.plan();
  return Picture(method.name(), {make_panel(plan, Place::kWorkspace, "Workspace (kept by the runtime)"),
                                 make_panel(plan, Place::kArena, "Outputs (in the arena)")})
      .draw();
}

}  // namespace stator::capi
