// The catalogue of link attributes.
#include <algorithm>
#include <array>

#include "gputopo/node.h"

namespace gputopo {

std::span<const LinkAttributeInfo> link_attributes() {
  static constexpr std::array kRows{
      LinkAttributeInfo{"copy_bandwidth", "Copy engine bandwidth, one way", "B/s"},
      LinkAttributeInfo{"bidirectional_copy_bandwidth", "Copy engine bandwidth per direction, both ways at once",
                        "B/s"},
      LinkAttributeInfo{"pageable_copy_bandwidth", "Copy bandwidth of pageable host memory", "B/s"},
      LinkAttributeInfo{"sm_read_bandwidth", "Load bandwidth of all SMs of the receiver, one way", "B/s"},
      LinkAttributeInfo{"bidirectional_sm_read_bandwidth", "Load bandwidth per direction, all SMs of both GPUs at once",
                        "B/s"},
      LinkAttributeInfo{"sm_write_bandwidth", "Store bandwidth of all SMs of the sender", "B/s"},
      LinkAttributeInfo{"capacity_fraction", "Fastest one-way transfer, as a fraction of the link's capacity", ""},
      LinkAttributeInfo{"copy_latency", "Time per 4 KiB copy, copies back to back", "ns", false},
      LinkAttributeInfo{"half_bandwidth_copy_size", "Copy size that reaches half the bandwidth", "B", false},
      LinkAttributeInfo{"load_latency", "Latency of a dependent load by the receiver", "ns", false},
      LinkAttributeInfo{"atomic_latency", "Latency of an atomic add by the receiver", "ns", false},
      LinkAttributeInfo{"store_latency", "Latency of a store by the sender, including the fence", "ns", false},
      LinkAttributeInfo{"together_bandwidth", "Total bandwidth of simultaneous transfers", "B/s"},
      LinkAttributeInfo{"min_rate_fraction", "Rate of the slowest transfer, as a fraction of its rate alone", ""},
  };
  return kRows;
}

const LinkAttributeInfo* find_link_attribute(std::string_view name) {
  const auto rows = link_attributes();
  const auto found = std::ranges::find(rows, name, &LinkAttributeInfo::name);
  return found == rows.end() ? nullptr : &*found;
}

Endpoint near_host(const NodeReport& report, std::size_t gpu, std::optional<std::uint32_t> numa_node) {
  const Endpoint end{EndpointKind::kGpu, static_cast<std::uint32_t>(gpu)};
  const auto rate = [&](const Endpoint& from, const Endpoint& to) {
    const LinkReport* link = report.link(from, to);
    const Attribute* value = link == nullptr ? nullptr : find(link->attributes, "copy_bandwidth");
    return value == nullptr ? 0 : value->number().value_or(0);
  };
  Endpoint best{EndpointKind::kHost, numa_node.value_or(0)};
  if (numa_node) return best;
  for (std::uint32_t i = 1; i < report.numa_nodes.size(); ++i) {
    const Endpoint host{EndpointKind::kHost, i};
    if (rate(host, end) + rate(end, host) > rate(best, end) + rate(end, best)) best = host;
  }
  return best;
}

const LinkReport* NodeReport::link(const Endpoint& from, const Endpoint& to) const {
  const auto found = std::ranges::find_if(links, [&](const LinkReport& l) { return l.from == from && l.to == to; });
  return found == links.end() ? nullptr : &*found;
}

}  // namespace gputopo
