#include "node/link_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "node/link_capacity.h"

namespace gputopo::node {
namespace {

// Share of the pairs of a node that are joined alike where all should be. Meshes with pairs that have different numbers
// of links on purpose (DGX-1, MI250X) stay below it.
constexpr double kUniform = 0.6;

std::string_view model_of(const NodeReport& report, std::uint32_t gpu) { return report.gpus[gpu].gpu.name; }

// ---- PCIe ----

// Lanes of the slot, or of sister boards if the slot is unknown, that a GPU does not use. The rate alone cannot tell
// them from lanes that a board never had.
std::optional<Verdict> judge_width(const NodeReport& report, std::uint32_t index) {
  const PciLink& link = report.gpus[index].gpu.pci_link;
  if (!link.width || !link.width_max || *link.width >= *link.width_max) return std::nullopt;
  std::uint32_t expected = 0;
  if (link.slot_width_max) {
    expected = std::min(*link.width_max, *link.slot_width_max);
  } else {
    for (std::uint32_t other = 0; other < report.gpus.size(); ++other) {
      if (model_of(report, other) != model_of(report, index)) continue;
      expected = std::max(expected, report.gpus[other].gpu.pci_link.width.value_or(0));
    }
  }
  Verdict verdict{.part = to_text(gpu_end(index))};
  if (*link.width < expected) {
    verdict.outcome = Outcome::kBad;
    verdict.text = fmt::format("its PCIe link runs with {} of {} lanes", *link.width, expected);
    verdict.next_step = kCheckHostLink;
  } else if (!link.slot_width_max) {
    verdict.text = fmt::format("its PCIe link runs with {} of {} lanes, and the width of its slot is unknown",
                               *link.width, *link.width_max);
    verdict.next_step = "if the slot has more lanes, reseat the board; otherwise ignore this";
  } else {
    return std::nullopt;
  }
  return verdict;
}

// A link further up has fewer lanes in use than both of its ends have.
void add_hops(const NodeReport& report, std::uint32_t index, std::vector<Verdict>& verdicts) {
  for (const PciHop& hop : report.gpus[index].gpu.pci_link.hops) {
    if (!hop.width || !hop.width_max || *hop.width >= *hop.width_max) continue;
    verdicts.push_back({.part = to_text(gpu_end(index)),
                        .outcome = Outcome::kBad,
                        .text = fmt::format("the upstream PCIe link at port {} runs with {} of {} lanes",
                                            hop.port.empty() ? "(unknown)" : hop.port, *hop.width, *hop.width_max),
                        .next_step = std::string(kCheckHostLink)});
  }
}

// ---- NVLinks ----

// Links of a GPU as its peers show them.
struct Joined {
  bool has_any = false;     // some peer is joined by NVLink
  bool has_switch = false;  // some peer is joined by a switch
  bool is_known = true;     // the driver reports the number for each such peer
  std::uint32_t links = 0;
};

Joined joined_of(const NodeReport& report, std::uint32_t gpu) {
  Joined joined;
  std::uint32_t by_switch = 0;
  for (const PeerLink& peer : report.peers) {
    if (peer.from != gpu || !peer.kind.starts_with("nv")) continue;
    const bool is_switch = peer.kind == "nvswitch";
    joined.has_any = true;
    joined.has_switch = joined.has_switch || is_switch;
    joined.is_known = joined.is_known && peer.lanes.has_value();
    if (is_switch) {
      by_switch = std::max(by_switch, peer.lanes.value_or(0));
    } else {
      joined.links += peer.lanes.value_or(0);
    }
  }
  joined.links += by_switch;
  return joined;
}

// NVLinks of a GPU that are up; nothing if unknown.
std::optional<std::uint32_t> nvlinks_up(const NodeGpu& gpu, const Joined& joined) {
  if (gpu.nvlinks) return gpu.nvlinks;
  return joined.has_any && joined.is_known ? std::optional(joined.links) : std::nullopt;
}

struct NvLinks {
  std::uint32_t expected = 0;    // 0: unknown
  bool is_by_sisters = true;     // only sister boards tell the number, and all may lack some
  bool has_sisters = false;      // other GPUs of this model are in the node
  bool are_joined_known = true;  // the driver reports how each of them is joined
  bool are_promised = false;     // the model has links that are always connected, or a switch joins sister boards
  bool have_sisters_some = false;
};

NvLinks nvlinks_expected(const NodeReport& report, std::uint32_t index, const Joined& joined) {
  const NodeGpu& gpu = report.gpus[index].gpu;
  NvLinks links;
  if (const auto model = mig_profile_in(gpu.name).empty() ? nvlink_model(gpu.name) : std::nullopt) {
    links.expected = model->links;
    links.are_promised = true;
  }
  links.expected = std::max(links.expected, gpu.nvlinks_max.value_or(0));
  links.is_by_sisters = links.expected == 0;
  for (std::uint32_t other = 0; other < report.gpus.size(); ++other) {
    if (other == index || model_of(report, other) != gpu.name) continue;
    links.has_sisters = true;
    const PeerLink* peer = find_peer(report, index, other);
    links.are_joined_known = links.are_joined_known && peer != nullptr && !peer->kind.empty();
    const Joined of_other = joined_of(report, other);
    const std::uint32_t up = nvlinks_up(report.gpus[other].gpu, of_other).value_or(0);
    links.have_sisters_some = links.have_sisters_some || up > 0;
    links.are_promised = links.are_promised || (up > 0 && of_other.has_switch);
    if (joined.has_switch || of_other.has_switch) links.expected = std::max(links.expected, up);
  }
  return links;
}

// A GPU of which no NVLink is known to be up.
std::optional<Verdict> judge_no_nvlink(bool is_known, const NvLinks& links, const Joined& joined, std::string part) {
  Verdict verdict{.part = std::move(part)};
  // Boards without a bridge have links that nothing is connected to, and the rate shows links of unknown number.
  if (joined.has_any || !(links.are_promised || links.have_sisters_some)) return std::nullopt;
  if (!is_known && !links.has_sisters) return std::nullopt;
  if (!is_known && !links.are_joined_known) {
    verdict.text = "the kind of its link to the other GPUs is unknown";
    verdict.next_step = "measure again with the management library (libnvidia-ml.so.1) accessible";
    return verdict;
  }
  verdict.text = fmt::format("none of {} NVLinks is up", links.expected);
  if (!links.are_promised) {
    verdict.text = "no NVLink is up, but other boards of its model have NVLinks that are up";
    verdict.next_step = "if a bridge joins this board, reseat it; otherwise ignore this";
  } else if (links.has_sisters) {
    verdict.outcome = Outcome::kBad;
    verdict.next_step = kCheckPeerLink;
  } else {
    verdict.next_step = "ignore this in a virtual machine with one GPU; otherwise run 'nvidia-smi nvlink -s'";
  }
  return verdict;
}

std::optional<Verdict> judge_nvlinks(const NodeReport& report, std::uint32_t index) {
  const NodeGpu& gpu = report.gpus[index].gpu;
  const Joined joined = joined_of(report, index);
  const std::optional<std::uint32_t> up = nvlinks_up(gpu, joined);
  const NvLinks links = nvlinks_expected(report, index, joined);
  if (!up || *up == 0) return judge_no_nvlink(up.has_value(), links, joined, to_text(gpu_end(index)));
  Verdict verdict{.part = to_text(gpu_end(index))};
  if (*up >= links.expected && links.is_by_sisters) {
    verdict.text = fmt::format("{} NVLinks are up; the number that its model has is unknown", *up);
    verdict.next_step = "compare with a healthy node";
  } else if (*up < links.expected) {
    verdict.outcome = Outcome::kBad;
    verdict.text = fmt::format("{} of {} NVLinks are up", *up, links.expected);
    verdict.next_step = kCheckPeerLink;
  } else {
    verdict.outcome = Outcome::kGood;
    verdict.text = fmt::format("all {} NVLinks are up", *up);
  }
  return verdict;
}

// ---- Pairs ----

// Kind and number of the links of a pair. A switch joins all pairs, and the number is the GPU's own.
using Join = std::pair<std::string, std::uint32_t>;

std::optional<Join> join_of(const NodeReport& report, std::uint32_t from, std::uint32_t to) {
  const PeerLink* peer = find_peer(report, from, to);
  if (peer == nullptr) return std::nullopt;
  return Join{peer->kind, peer->kind == "nvswitch" ? 0 : peer->lanes.value_or(0)};
}

std::string text_of(const Join& join) {
  const std::string kind = join.first.empty() ? "an unknown link" : join.first;
  return join.second == 0 ? kind : fmt::format("{} x {}", join.second, kind);
}

// How most pairs are joined; nothing if they differ or have no own links.
std::optional<Join> usual_join(const std::map<Join, std::size_t>& counts, std::size_t pairs) {
  const auto most = std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
  constexpr std::size_t kLeastPairs = 3;
  if (most == counts.end() || pairs / 2 < kLeastPairs || !least_healthy_fraction(most->first.first))
    return std::nullopt;
  const bool is_usual = static_cast<double>(most->second) >= kUniform * static_cast<double>(pairs);
  return is_usual ? std::optional(most->first) : std::nullopt;
}

void add_pairs(const NodeReport& report, std::string_view model, std::vector<Verdict>& verdicts) {
  std::map<Join, std::size_t> counts;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (std::uint32_t from = 0; from < report.gpus.size(); ++from) {
    for (std::uint32_t to = 0; to < report.gpus.size(); ++to) {
      if (from == to || model_of(report, from) != model || model_of(report, to) != model) continue;
      pairs.emplace_back(from, to);
      if (const auto join = join_of(report, from, to)) ++counts[*join];
    }
  }
  const std::optional<Join> usual = usual_join(counts, pairs.size());
  if (!usual) return;
  for (const auto& [from, to] : pairs) {
    const auto join = join_of(report, from, to);
    const bool is_known = join && (join->first != usual->first || join->second != 0);
    const bool is_less = !join || join->first != usual->first || (is_known && join->second < usual->second);
    if (!is_less) continue;
    verdicts.push_back(
        {.part = link_name(gpu_end(from), gpu_end(to)),
         .outcome = Outcome::kBad,
         .text = fmt::format("joined by {}; {} of {} pairs are joined by {}", join ? text_of(*join) : "no known link",
                             counts[*usual], pairs.size(), text_of(*usual)),
         .next_step = std::string(kCheckPeerLink)});
  }
}

}  // namespace

const PeerLink* find_peer(const NodeReport& report, std::uint32_t from, std::uint32_t to) {
  const auto found =
      std::ranges::find_if(report.peers, [&](const PeerLink& peer) { return peer.from == from && peer.to == to; });
  return found == report.peers.end() ? nullptr : &*found;
}

std::vector<Verdict> judge_link_counts(const NodeReport& report) {
  std::vector<Verdict> verdicts;
  std::vector<std::string_view> models;
  for (std::uint32_t gpu = 0; gpu < report.gpus.size(); ++gpu) {
    if (auto verdict = judge_width(report, gpu)) verdicts.push_back(std::move(*verdict));
    add_hops(report, gpu, verdicts);
    if (auto verdict = judge_nvlinks(report, gpu)) verdicts.push_back(std::move(*verdict));
    if (std::ranges::find(models, model_of(report, gpu)) == models.end()) models.push_back(model_of(report, gpu));
  }
  for (const std::string_view model : models) add_pairs(report, model, verdicts);
  return verdicts;
}

}  // namespace gputopo::node
