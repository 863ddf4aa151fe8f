#include "node/judgement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "node/link_capacity.h"

namespace gputopo {

Outcome outcome_of(std::span<const Verdict> verdicts) {
  const auto has = [&](Outcome outcome) { return std::ranges::count(verdicts, outcome, &Verdict::outcome) > 0; };
  if (has(Outcome::kBad)) return Outcome::kBad;
  return verdicts.empty() || has(Outcome::kNotJudged) ? Outcome::kNotJudged : Outcome::kGood;
}

namespace node {
namespace {

constexpr std::string_view kFraction = "capacity_fraction";
// One-way rates. A copy engine or the SMs may be slower than the link, so the fastest shows what it carries.
constexpr std::array<std::string_view, 3> kRates = {"copy_bandwidth", "sm_read_bandwidth", "sm_write_bandwidth"};
// A rate this far beyond the capacity shows that the traffic takes another link (NVLink-C2C instead of PCIe).
constexpr double kMostFraction = 1.05;
constexpr std::string_view kCheckHostLink =
    "look for PCIe errors in the kernel log, compare 'lspci -vv' (LnkSta) with that of a healthy GPU, and reseat the "
    "board or its riser";
constexpr std::string_view kCheckPeerLink =
    "run 'nvidia-smi nvlink -s' and 'nvidia-smi nvlink -e' (AMD: 'amd-smi xgmi'), and restart the fabric manager";

Endpoint gpu_end(std::size_t index) { return {EndpointKind::kGpu, static_cast<std::uint32_t>(index)}; }

std::string name_of(const LinkReport& link) { return fmt::format("{} to {}", to_text(link.from), to_text(link.to)); }

const PeerLink* peer_of(const NodeReport& report, const LinkReport& link) {
  const auto found = std::ranges::find_if(
      report.peers, [&](const PeerLink& peer) { return peer.from == link.from.index && peer.to == link.to.index; });
  return found == report.peers.end() ? nullptr : &*found;
}

bool is_host_link(const LinkReport& link) { return link.from.kind != link.to.kind; }

std::size_t gpu_of(const LinkReport& link) {
  return link.from.kind == EndpointKind::kGpu ? link.from.index : link.to.index;
}

// Whether the link alone bounds its rate: far host memory and peers without an own link also load other parts.
bool is_bound_by_itself(const NodeReport& report, const LinkReport& link) {
  const std::size_t gpu = gpu_of(link);
  if (gpu >= report.gpus.size()) return false;  // a caller that wants links only need not list the GPUs
  if (!is_host_link(link)) return least_healthy_fraction(link.kind).has_value();
  const Endpoint host = near_host(report, gpu, report.gpus[gpu].gpu.numa_node);
  return (link.from.kind == EndpointKind::kHost ? link.from : link.to) == host;
}

std::optional<LinkCapacity> capacity_of(const NodeReport& report, const LinkReport& link) {
  const NodeGpu& gpu = report.gpus[gpu_of(link)].gpu;
  if (is_host_link(link)) return host_link_capacity(gpu.pci_link);
  const PeerLink* peer = peer_of(report, link);
  return peer == nullptr ? std::nullopt : peer_link_capacity(*peer, gpu.name);
}

const Attribute* best_rate(const LinkReport& link) {
  const Attribute* best = nullptr;
  for (const std::string_view name : kRates) {
    const Attribute* rate = find(link.attributes, name);
    if (rate == nullptr || !rate->number() || !rate->low || !rate->high) continue;
    if (best == nullptr || *rate->number() > *best->number()) best = rate;
  }
  return best;
}

Attribute fraction_of(const NodeReport& report, const LinkReport& link) {
  const std::optional<LinkCapacity> capacity = capacity_of(report, link);
  if (!capacity) {
    return unavailable(Reason::kNotSupported,
                       "the driver does not report the link's width and rate, and no table has it");
  }
  const Attribute* rate = best_rate(link);
  if (rate == nullptr) {
    return unavailable(Reason::kInconclusive, "no bandwidth of this link was measured");
  }
  Attribute fraction;
  fraction.value = *rate->number() / capacity->bytes_per_second;
  fraction.low = *rate->low / capacity->bytes_per_second;
  fraction.high = *rate->high / capacity->bytes_per_second;
  fraction.source = Source::kMeasured;
  fraction.method = "fastest transfer over the capacity";
  fraction.add_detail("capacity_bytes_per_second", capacity->bytes_per_second);
  fraction.add_detail("capacity", capacity->text);
  return fraction;
}

std::string capacity_text(const Attribute& fraction) {
  const Value* text = fraction.find_detail("capacity");
  const auto* known = text == nullptr ? nullptr : std::get_if<std::string>(text);
  return known == nullptr ? "its capacity" : *known;
}

Verdict judge_rate(const LinkReport& link) {
  Verdict verdict{.part = name_of(link)};
  const Attribute* fraction = find(link.attributes, kFraction);
  const std::optional<double> least = least_healthy_fraction(link.kind);
  if (fraction == nullptr || !fraction->number() || !least) {
    verdict.text = fraction == nullptr || fraction->detail.empty() ? "the link was not measured" : fraction->detail;
    verdict.next_step = "measure again with the management library (libnvidia-ml.so.1 or KFD's sysfs) accessible";
    return verdict;
  }
  const double reached = *fraction->number();
  verdict.text = fmt::format("{:.0f}% of {}", 100 * reached, capacity_text(*fraction));
  if (reached > kMostFraction) {
    verdict.text += ": the transfers take another link than the reported one";
    verdict.next_step = "compare with a baseline: gputopo check";
  } else if (reached >= *least) {
    verdict.outcome = Outcome::kGood;
  } else if (fraction->high.value_or(reached) >= *least) {
    verdict.text += fmt::format(" (up to {:.0f}% in some runs): other traffic disturbed it", 100 * *fraction->high);
    verdict.next_step = "measure again while nothing else uses the link";
  } else {
    verdict.outcome = Outcome::kBad;
    verdict.text += fmt::format("; healthy links reach at least {:.0f}%", 100 * *least);
    verdict.next_step = is_host_link(link) ? kCheckHostLink : kCheckPeerLink;
  }
  return verdict;
}

Verdict missing_link(const Endpoint& from, const Endpoint& to) {
  return {.part = fmt::format("{} to {}", to_text(from), to_text(to)),
          .text = "the link was not measured",
          .next_step = "see the warnings of the report, and measure again"};
}

void add_host_verdicts(const NodeReport& report, std::vector<Verdict>& verdicts) {
  for (std::size_t gpu = 0; gpu < report.gpus.size(); ++gpu) {
    const Endpoint host = near_host(report, gpu, report.gpus[gpu].gpu.numa_node);
    for (const auto& [from, to] : {std::pair(host, gpu_end(gpu)), std::pair(gpu_end(gpu), host)}) {
      const LinkReport* link = report.link(from, to);
      verdicts.push_back(link == nullptr ? missing_link(from, to) : judge_rate(*link));
    }
  }
}

void add_peer_verdicts(const NodeReport& report, std::vector<Verdict>& verdicts) {
  for (const PeerLink& peer : report.peers) {
    if (!least_healthy_fraction(peer.kind)) continue;
    const LinkReport* link = report.link(gpu_end(peer.from), gpu_end(peer.to));
    verdicts.push_back(link == nullptr ? missing_link(gpu_end(peer.from), gpu_end(peer.to)) : judge_rate(*link));
  }
}

// ---- Widths and counts ----

// Lanes of the slot or of sister boards that a GPU does not use. The rate alone cannot show lanes that a board never
// had, and a link that was trained narrow may still be busy less than it could be.
std::optional<Verdict> judge_width(const NodeReport& report, std::size_t index) {
  const NodeGpu& gpu = report.gpus[index].gpu;
  const PciLink& link = gpu.pci_link;
  if (!link.width || !link.width_max || *link.width >= *link.width_max) return std::nullopt;
  std::uint32_t expected = link.slot_width_max ? std::min(*link.width_max, *link.slot_width_max) : 0;
  for (const NodeGpuReport& other : report.gpus) {
    if (other.gpu.name == gpu.name) expected = std::max(expected, other.gpu.pci_link.width.value_or(0));
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

std::uint32_t switch_links(const NodeReport& report, std::size_t gpu) {
  std::uint32_t links = 0;
  for (const PeerLink& peer : report.peers) {
    if (peer.kind == "nvswitch" && peer.from == gpu) links = std::max(links, peer.lanes.value_or(0));
  }
  return links;
}

// Number of NVLinks that a GPU should have: those that its driver knows, that its model has or that sister boards have.
std::uint32_t expected_nvlinks(const NodeReport& report, const NodeGpu& gpu, bool has_switch) {
  std::uint32_t expected = gpu.nvlinks_max.value_or(0);
  if (!has_switch) return expected;
  if (const auto model = nvlink_model(gpu.name)) expected = std::max(expected, model->links);
  for (std::size_t other = 0; other < report.gpus.size(); ++other) {
    if (report.gpus[other].gpu.name == gpu.name) expected = std::max(expected, switch_links(report, other));
  }
  return expected;
}

std::optional<Verdict> judge_nvlinks(const NodeReport& report, std::size_t index) {
  const NodeGpu& gpu = report.gpus[index].gpu;
  const std::uint32_t by_switch = switch_links(report, index);
  const std::uint32_t links = gpu.nvlinks.value_or(by_switch);
  const bool has_switch = std::ranges::any_of(report.peers, [&](const PeerLink& peer) {
    return peer.kind == "nvswitch" && (peer.from == index || peer.to == index);
  });
  // Boards without a bridge have links that nothing is connected to.
  if (links == 0 && !has_switch) return std::nullopt;
  Verdict verdict{.part = to_text(gpu_end(index))};
  const std::uint32_t expected = expected_nvlinks(report, gpu, has_switch);
  if (expected == 0) {
    verdict.text = fmt::format("{} NVLinks are up; how many its model has is unknown", links);
    verdict.next_step = "compare with a healthy node";
  } else if (links < expected) {
    verdict.outcome = Outcome::kBad;
    verdict.text = fmt::format("{} of {} NVLinks are up", links, expected);
    verdict.next_step = kCheckPeerLink;
  } else {
    verdict.outcome = Outcome::kGood;
    verdict.text = fmt::format("all {} NVLinks are up", links);
  }
  return verdict;
}

}  // namespace

void add_capacity_fractions(NodeReport& report) {
  for (LinkReport& link : report.links) {
    if (is_bound_by_itself(report, link)) get_or_add(link.attributes, kFraction) = fraction_of(report, link);
  }
}

std::vector<Verdict> judge_links(const NodeReport& report) {
  std::vector<Verdict> verdicts;
  add_host_verdicts(report, verdicts);
  add_peer_verdicts(report, verdicts);
  for (std::size_t gpu = 0; gpu < report.gpus.size(); ++gpu) {
    if (auto verdict = judge_width(report, gpu)) verdicts.push_back(std::move(*verdict));
    if (auto verdict = judge_nvlinks(report, gpu)) verdicts.push_back(std::move(*verdict));
  }
  return verdicts;
}

}  // namespace node
}  // namespace gputopo
