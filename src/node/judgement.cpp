#include "node/judgement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <tuple>

#include "node/link_capacity.h"
#include "node/link_counts.h"
#include "stats/descriptive.h"

namespace gputopo::node {
namespace {

constexpr std::string_view kFraction = "capacity_fraction";
constexpr const char* kMeasureAgain = "see the warnings of the report, and measure again";
// One-way rates. A copy engine or the SMs may be slower than the link, so the fastest shows what it carries.
constexpr std::array<std::string_view, 3> kRates = {"copy_bandwidth", "sm_read_bandwidth", "sm_write_bandwidth"};
// A rate this far beyond the capacity shows that the traffic takes another link (NVLink-C2C instead of PCIe).
constexpr double kMostFraction = 1.05;
// Links of one kind and capacity in a node are equally fast within 5% in all recordings. A link that is slower than
// this part of the others' median is bad, even if its capacity has room for healthy links that are slower.
constexpr double kLeastOfOthers = 0.8;
constexpr std::size_t kLeastOthers = 2;
// PCIe slots of the last two generations carry a quarter of a board's own rate or more.
constexpr double kOlderSlots = 0.25;
// Transfers between GPUs over PCIe pass host bridges, whose rates nobody publishes. A pair that reaches this part of
// its PCIe links shows that they work.
constexpr double kLeastOfBridges = 0.5;

bool is_host_link(const LinkReport& link) { return link.from.kind != link.to.kind; }

std::size_t gpu_of(const LinkReport& link) {
  return link.from.kind == EndpointKind::kGpu ? link.from.index : link.to.index;
}

// The kind of connection between the two ends; empty if it is unknown.
std::string kind_of(const NodeReport& report, const LinkReport& link) {
  if (is_host_link(link)) return "host";
  const PeerLink* peer = find_peer(report, link.from.index, link.to.index);
  return peer != nullptr && !peer->kind.empty() ? peer->kind : link.kind;
}

bool is_measured(const Attribute* rate) { return rate != nullptr && rate->number() && rate->low && rate->high; }

bool has_copy_rate(const LinkReport* link) {
  return link != nullptr && is_measured(find(link->attributes, kRates.front()));
}

// The near host memory of each GPU, which takes a search. If the system does not say which is near, a memory without a
// rate might be.
std::vector<Endpoint> near_hosts_of(const NodeReport& report) {
  std::vector<Endpoint> hosts;
  for (std::uint32_t gpu = 0; gpu < report.gpus.size(); ++gpu) {
    const std::optional<std::uint32_t> numa_node = report.gpus[gpu].gpu.numa_node;
    Endpoint near = near_host(report, gpu, numa_node);
    for (std::uint32_t i = 0; i < report.numa_nodes.size() && !numa_node; ++i) {
      const Endpoint host{EndpointKind::kHost, i};
      const Endpoint end = gpu_end(gpu);
      if (!has_copy_rate(report.link(host, end)) || !has_copy_rate(report.link(end, host))) near = host;
    }
    hosts.push_back(near);
  }
  return hosts;
}

// Whether the link alone bounds its rate. Far host memory also loads the links between the host's processors.
bool is_bound_by_itself(const std::vector<Endpoint>& near_hosts, const LinkReport& link) {
  const std::size_t gpu = gpu_of(link);
  if (gpu >= near_hosts.size()) return false;  // a caller that wants links only need not list the GPUs
  if (!is_host_link(link)) return link.to.index < near_hosts.size();
  return (link.from.kind == EndpointKind::kHost ? link.from : link.to) == near_hosts[gpu];
}

std::optional<LinkCapacity> host_capacity(const NodeReport& report, std::size_t gpu) {
  return host_link_capacity(report.gpus[gpu].gpu.pci_link);
}

std::optional<LinkCapacity> capacity_of(const NodeReport& report, const LinkReport& link) {
  if (is_host_link(link)) return host_capacity(report, gpu_of(link));
  const std::string kind = kind_of(report, link);
  if (least_healthy_fraction(kind)) {
    const PeerLink* known = find_peer(report, link.from.index, link.to.index);
    if (known == nullptr) return std::nullopt;
    PeerLink peer = *known;
    peer.kind = kind;
    return peer_link_capacity(peer, report.gpus[link.from.index].gpu.name);
  }
  if (kind != "pcie") return std::nullopt;
  const auto one = host_capacity(report, link.from.index);
  const auto other = host_capacity(report, link.to.index);
  if (!one || !other) return std::nullopt;
  return one->bytes_per_second < other->bytes_per_second ? one : other;
}

const Attribute* best_rate(const LinkReport& link) {
  const Attribute* best = nullptr;
  for (const std::string_view name : kRates) {
    const Attribute* rate = find(link.attributes, name);
    if (!is_measured(rate)) continue;
    if (best == nullptr || *rate->number() > *best->number()) best = rate;
  }
  return best;
}

Attribute fraction_of(const NodeReport& report, const LinkReport& link) {
  const std::optional<LinkCapacity> capacity = capacity_of(report, link);
  if (!capacity) {
    return unavailable(Reason::kNotSupported,
                       kind_of(report, link).empty()
                           ? "the kind of link between the two GPUs is unknown"
                           : "the driver does not report the link's width and rate, and gputopo does not know them");
  }
  // A copy that failed may be what is wrong with the link.
  if (!has_copy_rate(&link)) return unavailable(Reason::kInconclusive, "copy_bandwidth of this link is missing");
  const Attribute* rate = best_rate(link);
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

// Rates of all links by what must be equal for two of them to be equally fast.
class Classes {
 public:
  explicit Classes(const NodeReport& report) : report_(report), near_hosts_(near_hosts_of(report)) {
    for (const LinkReport& link : report.links) {
      const Attribute* rate = is_bound_by_itself(near_hosts_, link) ? best_rate(link) : nullptr;
      if (rate != nullptr) rates_[class_of(link)].push_back(*rate->number());
    }
  }
  [[nodiscard]] const std::vector<Endpoint>& near_hosts() const { return near_hosts_; }
  // The link's rate over the median rate of the others of its class; nothing if there are too few.
  [[nodiscard]] std::optional<double> part_of_others(const LinkReport& link) const {
    const double own = *best_rate(link)->number();
    const auto found = rates_.find(class_of(link));
    if (found == rates_.end() || found->second.size() < kLeastOthers + 1) return std::nullopt;
    std::vector<double> others = found->second;
    others.erase(std::ranges::find(others, own));
    return own / stats::median(others);
  }

 private:
  using Class = std::tuple<EndpointKind, EndpointKind, std::string, bool, double>;
  [[nodiscard]] Class class_of(const LinkReport& link) const {
    const std::optional<LinkCapacity> capacity = capacity_of(report_, link);
    const auto numa_node = [&](const Endpoint& end) { return report_.gpus[end.index].gpu.numa_node; };
    const bool is_near = !is_host_link(link) && numa_node(link.from) == numa_node(link.to);
    return {link.from.kind, link.to.kind, kind_of(report_, link), is_near, capacity ? capacity->bytes_per_second : 0};
  }
  const NodeReport& report_;
  std::vector<Endpoint> near_hosts_;
  std::map<Class, std::vector<double>> rates_;
};

// True if the link may be as fast as its slot: the slot is unknown, no board of the same model is faster, and a slot of
// an earlier PCIe generation explains the rate.
bool may_be_slot(const NodeReport& report, const Classes& classes, const LinkReport& link, double reached,
                 double least) {
  const NodeGpu& gpu = report.gpus[gpu_of(link)].gpu;
  if (!is_host_link(link) || is_slot_known(gpu.pci_link)) return false;
  const bool is_sister_faster = std::ranges::any_of(report.links, [&](const LinkReport& other) {
    const Attribute* fraction = find(other.attributes, kFraction);
    return is_host_link(other) && is_bound_by_itself(classes.near_hosts(), other) && fraction != nullptr &&
           fraction->number() && report.gpus[gpu_of(other)].gpu.name == gpu.name && *fraction->number() >= least;
  });
  return !is_sister_faster && reached >= least * kOlderSlots;
}

Verdict unjudged_rate(const LinkReport& link, const Attribute* fraction) {
  Verdict verdict{.part = link_name(link.from, link.to)};
  verdict.text = fraction == nullptr || fraction->detail.empty() ? "the link was not measured" : fraction->detail;
  verdict.next_step = fraction != nullptr && fraction->reason == Reason::kNotSupported
                          ? "measure again with the management library (libnvidia-ml.so.1 or KFD's sysfs) accessible"
                          : kMeasureAgain;
  return verdict;
}

// A pair of GPUs without an own link.
Verdict judge_bridged(const NodeReport& report, const Classes& classes, const LinkReport& link) {
  const Attribute* fraction = find(link.attributes, kFraction);
  Verdict verdict{.part = link_name(link.from, link.to)};
  verdict.text = fmt::format("{:.0f}% of {}, through the host", 100 * *fraction->number(), capacity_text(link));
  const auto part = classes.part_of_others(link);
  if (xgmi_model(report.gpus[link.from.index].gpu.name)) {
    verdict.text += ": boards of this model are joined by xGMI";
    verdict.next_step = kCheckPeerLink;
  } else if (*fraction->number() > kMostFraction) {
    verdict.text += ": the GPUs have a link other than the reported one";
    verdict.next_step = "measure again with the management library (libnvidia-ml.so.1) accessible";
  } else if (*fraction->number() >= kLeastOfBridges || (part && *part >= kLeastOfOthers)) {
    verdict.outcome = Outcome::kGood;
  } else {
    verdict.text += ": the rate of the host's bridges is unknown";
    verdict.next_step = "compare with a healthy node or with a baseline: gputopo check";
  }
  return verdict;
}

Verdict judge_rate(const NodeReport& report, const Classes& classes, const LinkReport& link) {
  const std::string kind = kind_of(report, link);
  const std::optional<double> least = least_healthy_fraction(kind);
  const Attribute* fraction = find(link.attributes, kFraction);
  const bool is_bridged = kind == "pcie";
  if (fraction == nullptr || !fraction->number() || !(least || is_bridged)) return unjudged_rate(link, fraction);
  if (is_bridged) return judge_bridged(report, classes, link);
  const double reached = *fraction->number();
  const double most = fraction->high.value_or(reached);
  Verdict verdict{.part = link_name(link.from, link.to)};
  verdict.text = fmt::format("{:.0f}% of {}", 100 * reached, capacity_text(link));
  const auto part = classes.part_of_others(link);
  if (reached > kMostFraction) {
    verdict.text += ": the transfers use a link other than the reported one";
    verdict.next_step = "compare with a baseline: gputopo check";
  } else if (reached >= *least && (!part || *part >= kLeastOfOthers)) {
    verdict.outcome = Outcome::kGood;
  } else if (reached < *least && most >= *least) {
    verdict.text += fmt::format(" (up to {:.0f}% in some runs): other traffic disturbed it", 100 * most);
    verdict.next_step = "measure again while nothing else uses the link";
  } else if (reached < *least && may_be_slot(report, classes, link, reached, *least)) {
    verdict.text += ": the PCIe generation and width of its slot are unknown";
    verdict.next_step = "if the slot has the board's generation and width, reseat the board; otherwise ignore this";
  } else {
    verdict.outcome = Outcome::kBad;
    verdict.text += reached < *least ? fmt::format("; healthy links reach at least {:.0f}%", 100 * *least)
                                     : fmt::format(", {:.0f}% of the median of similar links", 100 * *part);
    verdict.next_step = is_host_link(link) ? kCheckHostLink : kCheckPeerLink;
  }
  return verdict;
}

Verdict judge_link(const NodeReport& report, const Classes& classes, const Endpoint& from, const Endpoint& to) {
  if (const LinkReport* link = report.link(from, to)) return judge_rate(report, classes, *link);
  return {.part = link_name(from, to), .text = "the link was not measured", .next_step = kMeasureAgain};
}

}  // namespace

std::string capacity_text(const LinkReport& link) {
  const Attribute* fraction = find(link.attributes, kFraction);
  const Value* text = fraction == nullptr ? nullptr : fraction->find_detail("capacity");
  const auto* known = text == nullptr ? nullptr : std::get_if<std::string>(text);
  return known == nullptr ? "" : *known;
}

void add_capacity_fractions(NodeReport& report) {
  const std::vector<Endpoint> near_hosts = near_hosts_of(report);
  for (LinkReport& link : report.links) {
    if (is_bound_by_itself(near_hosts, link)) get_or_add(link.attributes, kFraction) = fraction_of(report, link);
  }
}

std::vector<Verdict> judge_links(const NodeReport& report) {
  const Classes classes(report);
  std::vector<Verdict> verdicts;
  for (std::uint32_t gpu = 0; gpu < report.gpus.size(); ++gpu) {
    const Endpoint host = classes.near_hosts()[gpu];
    verdicts.push_back(judge_link(report, classes, host, gpu_end(gpu)));
    verdicts.push_back(judge_link(report, classes, gpu_end(gpu), host));
  }
  for (std::uint32_t from = 0; from < report.gpus.size(); ++from) {
    for (std::uint32_t to = 0; to < report.gpus.size(); ++to) {
      if (from != to) verdicts.push_back(judge_link(report, classes, gpu_end(from), gpu_end(to)));
    }
  }
  std::ranges::move(judge_link_counts(report), std::back_inserter(verdicts));
  return verdicts;
}

std::vector<Verdict> verdicts_of(const NodeReport& report) {
  if (!report.verdicts.empty() || report.links.empty()) return report.verdicts;
  NodeReport judged = report;
  add_capacity_fractions(judged);
  return judge_links(judged);
}

}  // namespace gputopo::node
