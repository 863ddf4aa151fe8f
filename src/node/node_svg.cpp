#include "node/node_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "node/node_view.h"
#include "report/words/units.h"

namespace gputopo::node {
namespace {

using report::Markup;
using report::markup;
using report::px;

constexpr double kBox = 150;  // width
constexpr double kTall = 56;  // height
constexpr double kGap = 34;   // between GPUs
constexpr double kMargin = 16;
constexpr double kHostTop = kMargin;
constexpr double kGpuTop = 190;
constexpr double kSwitchTop = 330;
constexpr std::size_t kMostDirect = 4;  // with more GPUs, lines between all pairs become a tangle

// Light, or dark if the viewer asks for it. Colors are literal, because some viewers know no custom properties.
constexpr report::ProgramText kDrawingStyle =
    "<style>.box{fill:#f3f5f8;stroke:#c3cad4}.gpu{fill:#d8e8fb;stroke:#3b76b8}.text{fill:#1c2430;font:13px "
    "system-ui,sans-serif;text-anchor:middle}.small{font-size:11px;paint-order:stroke;stroke:#ffffff;stroke-width:4px;"
    "stroke-linejoin:round}.inside{stroke:none}.link{stroke:#3b76b8;fill:none}.host{stroke:#5b6675}.back{fill:#ffffff}@"
    "media "
    "(prefers-color-scheme:dark){.box{fill:#232a33;stroke:#4a5563}.gpu{fill:#16324f;stroke:#6ea8e0}.text{fill:#e6eaf0}."
    "small{stroke:#14181e}.link{stroke:#6ea8e0}.host{stroke:#a3adba}.back{fill:#14181e}}</style>";

double width_of(double bytes_per_second) {
  constexpr double kThin = 1.5;
  constexpr double kLeast = 1e9;
  return kThin + std::max(0.0, 2.2 * std::log10(std::max(bytes_per_second, kLeast) / kLeast));
}

class Drawing {
 public:
  explicit Drawing(const NodeReport& report) : report_(report), links_(report) {
    const auto most = static_cast<double>(std::max(report.gpus.size(), report.numa_nodes.size()));
    width_ = 2 * kMargin + most * kBox + (most - 1) * kGap;
  }

  Markup draw() {
    host_links();
    report_.gpus.size() <= kMostDirect ? peer_lines() : switch_bar();
    boxes();
    const double height = report_.gpus.size() < 2 ? kGpuTop + kTall + kMargin : kSwitchTop + kTall;
    return markup(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" "
        "aria-label=\"{2}\">{3}<rect class=\"back\" width=\"{0}\" height=\"{1}\"/>{4}</svg>\n",
        px(width_), px(height), models_text(report_) + " and the links between them", kDrawingStyle, text_);
  }

 private:
  [[nodiscard]] double centre(std::size_t index, std::size_t count) const {
    const double room = (width_ - 2 * kMargin) / static_cast<double>(count);
    return kMargin + room * (static_cast<double>(index) + 0.5);
  }
  [[nodiscard]] double gpu_x(std::size_t gpu) const { return centre(gpu, report_.gpus.size()); }
  [[nodiscard]] double host_x(std::size_t host) const { return centre(host, report_.numa_nodes.size()); }

  [[nodiscard]] double copy_rate(const Endpoint& from, const Endpoint& to) const {
    const Attribute* attribute = links_.find(from, to, "copy_bandwidth");
    return attribute == nullptr ? 0 : attribute->number().value_or(0);
  }

  // Text `inside` a box needs no outline; elsewhere an outline hides the lines behind the text.
  void label(double x, double y, const std::string& text, bool inside = false) {
    text_ += markup("<text class=\"text small{}\" x=\"{}\" y=\"{}\">{}</text>\n", inside ? " inside" : "", px(x), px(y),
                    text);
  }

  static std::string both_ways(double there, double back) {
    if (there <= 0 || back <= 0) return "";
    constexpr double kGiga = 1e9;
    return fmt::format("{} / {} GB/s", report::significant(there / kGiga, 3), report::significant(back / kGiga, 3));
  }

  void host_links() {
    for (std::uint32_t gpu = 0; gpu < report_.gpus.size(); ++gpu) {
      const std::uint32_t host = near_host(report_, gpu, report_.gpus[gpu].gpu.numa_node).index;
      const double there = copy_rate({EndpointKind::kHost, host}, {EndpointKind::kGpu, gpu});
      const double back = copy_rate({EndpointKind::kGpu, gpu}, {EndpointKind::kHost, host});
      const double x = gpu_x(gpu);
      const double middle = (kHostTop + kTall + kGpuTop) / 2;
      text_ += markup(
          "<path class=\"link host\" stroke-width=\"{}\" d=\"M{} {}L{} {}\"><title>host{} and gpu{}</title></path>\n",
          px(width_of(there)), px(host_x(host)), px(kHostTop + kTall), px(x), px(kGpuTop), host, gpu);
      label(x, middle + 28, both_ways(there, back));
    }
  }

  // In a ring only neighbors are connected directly: other pairs go through them.
  [[nodiscard]] bool is_direct(std::uint32_t from, std::uint32_t to) const {
    const auto has_lanes = [](const PeerLink& peer) { return peer.lanes.has_value(); };
    if (std::ranges::none_of(report_.peers, has_lanes)) return true;
    return std::ranges::any_of(
        report_.peers, [&](const PeerLink& peer) { return peer.from == from && peer.to == to && has_lanes(peer); });
  }

  void peer_lines() {
    for (std::uint32_t i = 0; i < report_.gpus.size(); ++i) {
      for (std::uint32_t j = i + 1; j < report_.gpus.size(); ++j) {
        if (!is_direct(i, j)) continue;
        const double there = copy_rate({EndpointKind::kGpu, i}, {EndpointKind::kGpu, j});
        const double back = copy_rate({EndpointKind::kGpu, j}, {EndpointKind::kGpu, i});
        const double x = (gpu_x(i) + gpu_x(j)) / 2;
        const double top = kGpuTop + kTall;
        const double bottom = top + 34 * (j - i) + 20 * i;
        text_ +=
            markup("<path class=\"link\" stroke-width=\"{}\" d=\"M{} {}C{} {} {} {} {} {}\"/>\n", px(width_of(there)),
                   px(gpu_x(i)), px(top), px(gpu_x(i)), px(bottom), px(gpu_x(j)), px(bottom), px(gpu_x(j)), px(top));
        const auto peer =
            std::ranges::find_if(report_.peers, [&](const PeerLink& p) { return p.from == i && p.to == j; });
        const std::string kind = peer == report_.peers.end() ? "" : peer_text(*peer);
        label(x, top + 0.75 * (bottom - top) + 16, both_ways(there, back));
        if (report_.gpus.size() == 2) label(x, top + 0.75 * (bottom - top) + 32, kind);
      }
    }
  }

  // Draws one bar for the switch, with the smallest and the largest rate.
  void switch_bar() {
    double least = 0;
    double most = 0;
    for (const LinkReport& link : report_.links) {
      if (link.from.kind != link.to.kind) continue;
      const double rate = copy_rate(link.from, link.to);
      least = least == 0 ? rate : std::min(least, rate);
      most = std::max(most, rate);
    }
    for (std::size_t gpu = 0; gpu < report_.gpus.size(); ++gpu) {
      text_ += markup("<path class=\"link\" stroke-width=\"{}\" d=\"M{} {}V{}\"/>\n", px(width_of(most)),
                      px(gpu_x(gpu)), px(kGpuTop + kTall), px(kSwitchTop));
    }
    // The bar represents all pairs. The text beside the picture says which pair has which kind of link.
    const std::vector<std::string> kinds = peer_texts(report_);
    const std::string kind = kinds.size() == 1 ? peer_text(report_.peers.front()) : "several kinds of links";
    text_ += markup("<rect class=\"box\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"30\" rx=\"4\"/>\n", px(kMargin),
                    px(kSwitchTop), px(width_ - 2 * kMargin));
    label(width_ / 2, kSwitchTop + 19,
          fmt::format("{}: {} to {} per pair", kind, report::human_bandwidth(least), report::human_bandwidth(most)),
          true);
  }

  void box(double x, double top, const char* kind, const std::string& name, const std::string& below) {
    text_ += markup("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"6\"/>\n", kind,
                    px(x - kBox / 2), px(top), px(kBox), px(kTall));
    text_ += markup("<text class=\"text\" x=\"{}\" y=\"{}\">{}</text>\n", px(x), px(top + 24), name);
    label(x, top + 42, below, true);
  }

  void boxes() {
    for (std::size_t i = 0; i < report_.numa_nodes.size(); ++i) {
      const NumaNode& numa = report_.numa_nodes[i];
      const std::string memory =
          numa.memory_bytes ? fmt::format("{:.0f} GiB", static_cast<double>(*numa.memory_bytes) / (1ull << 30)) : "";
      box(host_x(i), kHostTop, "box", fmt::format("host{}", i), memory);
    }
    for (std::size_t i = 0; i < report_.gpus.size(); ++i) {
      constexpr std::size_t kFits = 22;
      box(gpu_x(i), kGpuTop, "box gpu", fmt::format("gpu{}", i), report_.gpus[i].gpu.name.substr(0, kFits));
    }
  }

  const NodeReport& report_;
  const LinkIndex links_;
  double width_ = 0;
  Markup text_;
};

}  // namespace

Markup node_svg(const NodeReport& report) { return Drawing(report).draw(); }

}  // namespace gputopo::node
