#include "node/node_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <span>

#include "gputopo/catalogue.h"
#include "report/words/text_table.h"
#include "report/words/units.h"
#include "report/words/value_text.h"

namespace gputopo::node {
namespace {

constexpr double kGiga = 1e9;
constexpr int kDigitsShown = 4;

// Formats a value in the unit of the matrix's title.
std::string cell_text(const Attribute* attribute, std::string_view unit) {
  if (attribute == nullptr || !attribute->available()) return "";
  const double number = attribute->number().value_or(0);
  if (unit == "B/s") return report::significant(number / kGiga, kDigitsShown);
  if (unit == "B") return report::human_bytes(number);
  return report::significant(number, kDigitsShown);
}

// Everything that is missing for one reason. Many links miss the same values, so one line can name them all.
struct Lacking {
  std::vector<std::string> where;
  std::vector<std::string> what;
  void add(const std::string& place, const std::string& name) {
    if (std::ranges::find(where, place) == where.end()) where.push_back(place);
    if (std::ranges::find(what, name) == what.end()) what.push_back(name);
  }
};

void add_lacking(const AttributeMap& attributes, const std::string& where, std::map<std::string, Lacking>& reasons) {
  for (const auto& [name, attribute] : attributes) {
    if (!attribute.available()) reasons[report::why_absent(attribute)].add(where, name);
  }
}

AttributeMap health_of(AttributeMap device) {
  std::erase_if(device, [](const auto& entry) {
    const AttributeInfo* info = find_attribute(entry.first);
    return info == nullptr || info->quantity != Quantity::kHealth;
  });
  return device;
}

const std::vector<std::string>* names_in(const Attribute& attribute, std::string_view detail) {
  const Value* value = attribute.find_detail(detail);
  return value == nullptr ? nullptr : std::get_if<std::vector<std::string>>(value);
}

std::int64_t count_in(const Attribute& attribute, std::string_view detail) {
  const Value* value = attribute.find_detail(detail);
  const auto* number = value == nullptr ? nullptr : std::get_if<std::int64_t>(value);
  return number == nullptr ? 0 : *number;
}

// Returns each transfer of pairs like "host0-gpu0 and host0-gpu1" once.
std::vector<std::string> transfers_in(const std::vector<std::string>& pairs) {
  constexpr std::string_view kAnd = " and ";
  std::vector<std::string> transfers;
  for (const std::string& pair : pairs) {
    const std::size_t middle = pair.find(kAnd);
    if (middle == std::string::npos) continue;
    for (const std::string& one : {pair.substr(0, middle), pair.substr(middle + kAnd.size())}) {
      if (std::ranges::find(transfers, one) == transfers.end()) transfers.push_back(one);
    }
  }
  return transfers;
}

std::string some_of(const std::vector<std::string>& pairs) {
  constexpr std::size_t kNamed = 6;
  const std::size_t named = std::min(kNamed, pairs.size());
  const std::string more =
      pairs.size() > named ? fmt::format(", and {} more (the JSON report lists all)", pairs.size() - named) : "";
  return fmt::format("{}{}", fmt::join(std::span(pairs).first(named), ", "), more);
}

}  // namespace

LinkIndex::LinkIndex(const NodeReport& report) {
  for (const LinkReport& link : report.links) links_.emplace(std::pair(link.from, link.to), &link);
}

const Attribute* LinkIndex::find(const Endpoint& from, const Endpoint& to, std::string_view name) const {
  const auto found = links_.find({from, to});
  return found == links_.end() ? nullptr : gputopo::find(found->second->attributes, name);
}

std::vector<Endpoint> places_of(const NodeReport& report) {
  std::vector<Endpoint> places;
  for (std::uint32_t i = 0; i < report.numa_nodes.size(); ++i) places.push_back({EndpointKind::kHost, i});
  for (std::uint32_t i = 0; i < report.gpus.size(); ++i) places.push_back({EndpointKind::kGpu, i});
  return places;
}

namespace {

std::string title_of(const LinkAttributeInfo& info) {
  if (info.unit == "B/s") return fmt::format("{}, GB/s", info.title);
  if (info.unit == "ns") return fmt::format("{}, ns", info.title);
  return std::string(info.title);  // cells show sizes with their own unit
}

}  // namespace

std::vector<Matrix> matrices_of(const NodeReport& report) {
  std::vector<Matrix> matrices;
  const std::vector<Endpoint> places = places_of(report);
  const LinkIndex links(report);
  for (const LinkAttributeInfo& info : link_attributes()) {
    Matrix matrix{.attribute = info.name, .title = title_of(info)};
    const auto cell = [&](const Endpoint& from, const Endpoint& to) {
      return cell_text(links.find(from, to, info.name), info.unit);
    };
    for (const Endpoint& to : places) {
      if (std::ranges::any_of(places, [&](const Endpoint& from) { return !cell(from, to).empty(); })) {
        matrix.columns.push_back(to);
      }
    }
    for (const Endpoint& from : places) {
      Matrix::Row row{.from = from, .cells = {}};
      for (const Endpoint& to : matrix.columns) row.cells.push_back(cell(from, to));
      const bool has_any = std::ranges::any_of(row.cells, [](const std::string& text) { return !text.empty(); });
      if (has_any) matrix.rows.push_back(std::move(row));
    }
    if (!matrix.rows.empty()) matrices.push_back(std::move(matrix));
  }
  return matrices;
}

std::string gpu_text(const NodeReport& report, std::size_t index) {
  const NodeGpu& gpu = report.gpus[index].gpu;
  std::string text = gpu.name;
  if (gpu.numa_node && report.numa_nodes.size() > 1) {
    text += fmt::format(", NUMA node {}", report.numa_nodes[*gpu.numa_node].id);
  }
  if (!gpu.cpus.empty()) text += fmt::format(", CPUs {}", gpu.cpus);
  if (const auto generation = gpu.pci_link.generation_max ? gpu.pci_link.generation_max : gpu.pci_link.generation) {
    text += fmt::format(", PCIe {}.0", *generation);
    const auto width = gpu.pci_link.width ? gpu.pci_link.width : gpu.pci_link.width_max;
    if (width) text += fmt::format(" x{}", *width);
    if (gpu.pci_link.width && gpu.pci_link.width_max && *gpu.pci_link.width < *gpu.pci_link.width_max) {
      text += fmt::format(" of x{}", *gpu.pci_link.width_max);
    }
  }
  return text;
}

std::string peer_text(const PeerLink& peer) {
  std::string text = peer.kind.empty() ? "unknown" : peer.kind;
  if (peer.lanes && peer.lane_bytes_per_second) {
    text = fmt::format("{} x {} {}", *peer.lanes, report::human_bandwidth(*peer.lane_bytes_per_second), text);
  } else if (peer.lanes) {
    text = fmt::format("{} x {}", *peer.lanes, text);
  }
  return peer.is_reachable ? text : text + ", no peer access";
}

std::string models_text(const NodeReport& report) {
  std::map<std::string, int> counts;
  for (const NodeGpuReport& gpu : report.gpus) ++counts[gpu.gpu.name];
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts) parts.push_back(fmt::format("{} x {}", count, name));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<std::string> peer_texts(const NodeReport& report) {
  std::map<std::string, std::vector<std::string>> pairs;
  for (const PeerLink& peer : report.peers) {
    if (peer.from < peer.to) pairs[peer_text(peer)].push_back(fmt::format("gpu{}-gpu{}", peer.from, peer.to));
  }
  std::vector<std::string> texts;
  for (const auto& [text, names] : pairs) {
    constexpr std::size_t kNamed = 8;
    const bool are_all = pairs.size() == 1 && names.size() > 1;
    const std::size_t named = std::min(kNamed, names.size());
    const std::vector<std::string> first(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(named));
    const std::string more = names.size() > named ? fmt::format(" and {} more", names.size() - named) : "";
    texts.push_back(are_all ? fmt::format("all pairs of GPUs: {}", text)
                            : fmt::format("{}{}: {}", fmt::join(first, ", "), more, text));
  }
  return texts;
}

std::vector<std::string> sharing_texts(const ConcurrentReport& entry) {
  const Attribute* share = find(entry.attributes, "min_rate_fraction");
  const std::vector<std::string>* shared = share == nullptr ? nullptr : names_in(*share, "sharing_pairs");
  if (shared == nullptr) return {};
  std::vector<std::string> texts;
  const std::vector<std::string> all = transfers_in(*shared);
  // If every pair shares a resource, listing the transfers says as much as listing the pairs.
  if (shared->size() > 1 && shared->size() == all.size() * (all.size() - 1) / 2) {
    texts.push_back(fmt::format("any two of these share a resource: {}", fmt::join(all, ", ")));
  } else if (!shared->empty()) {
    texts.push_back(fmt::format("pairs that share a resource: {}", some_of(*shared)));
  }
  if (const auto* unclear = names_in(*share, "unclear_pairs"); unclear != nullptr && !unclear->empty()) {
    texts.push_back(fmt::format("pairs that slow each other down only in some runs: {}", some_of(*unclear)));
  }
  if (texts.empty()) texts.emplace_back("no two transfers saturate a shared resource, but three or more together do");
  const auto tried = count_in(*share, "pairs_tried");
  const auto pairs = count_in(*share, "pairs");
  if (tried < pairs) texts.push_back(fmt::format("{} of {} pairs were tried; --full tries all", tried, pairs));
  return texts;
}

std::string judgement_summary(const NodeReport& report) {
  const auto count = [&](Outcome outcome) { return std::ranges::count(report.verdicts, outcome, &Verdict::outcome); };
  std::string text = fmt::format("{} of {} parts good", count(Outcome::kGood), report.verdicts.size());
  if (const auto bad = count(Outcome::kBad); bad > 0) text += fmt::format(", {} bad", bad);
  if (const auto unknown = count(Outcome::kNotJudged); unknown > 0) text += fmt::format(", {} not judged", unknown);
  return text;
}

std::string verdict_text(const Verdict& verdict) {
  std::string text = fmt::format("{}: {}", verdict.part, verdict.text);
  if (!verdict.next_step.empty()) text += fmt::format(". Next: {}", verdict.next_step);
  return text;
}

std::vector<std::string> remarks_of(const NodeReport& report) {
  std::vector<std::string> remarks = report.warnings;
  for (std::size_t i = 0; i < report.gpus.size(); ++i) {
    const NodeGpuReport& gpu = report.gpus[i];
    if (!gpu.failure.empty()) remarks.push_back(fmt::format("gpu{} was not measured: {}", i, gpu.failure));
    if (!gpu.report) continue;
    if (!gpu.report->complete) remarks.push_back(fmt::format("gpu{}: the report is incomplete", i));
    for (const std::string& warning : gpu.report->warnings) remarks.push_back(fmt::format("gpu{}: {}", i, warning));
  }
  std::map<std::string, Lacking> reasons;
  for (std::size_t i = 0; i < report.gpus.size(); ++i) {
    if (report.gpus[i].report) add_lacking(health_of(report.gpus[i].report->device), fmt::format("gpu{}", i), reasons);
  }
  for (const LinkReport& link : report.links) {
    add_lacking(link.attributes, link_name(link.from, link.to), reasons);
  }
  for (const ConcurrentReport& entry : report.together) add_lacking(entry.attributes, entry.title, reasons);
  for (const auto& [reason, lacking] : reasons) {
    constexpr std::size_t kNamed = 3;
    const std::size_t named = std::min(kNamed, lacking.where.size());
    const std::vector<std::string> first(lacking.where.begin(),
                                         lacking.where.begin() + static_cast<std::ptrdiff_t>(named));
    const std::string more =
        lacking.where.size() > named ? fmt::format(" and {} more", lacking.where.size() - named) : "";
    remarks.push_back(fmt::format("{}{}: {}: {}", fmt::join(first, ", "), more, fmt::join(lacking.what, ", "), reason));
  }
  return remarks;
}

}  // namespace gputopo::node
