// A node: its GPUs, the memories of the host, and the links between them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gputopo/links.h"
#include "gputopo/model.h"
#include "gputopo/outcome.h"

namespace gputopo {

inline constexpr int kNodeSchemaVersion = 2;

// A link from one place to another. The attributes are copy_bandwidth, load_latency, ... (link_attributes()).
struct LinkReport {
  Endpoint from;
  Endpoint to;
  std::string kind;  // as PeerLink::kind; "host" for links to and from the host
  AttributeMap attributes;
  friend bool operator==(const LinkReport&, const LinkReport&) = default;
};

// Several simultaneous transfers.
struct ConcurrentReport {
  std::string id;     // "host_to_all"
  std::string title;  // "Host to all GPUs"
  AttributeMap attributes;
  friend bool operator==(const ConcurrentReport&, const ConcurrentReport&) = default;
};

struct NodeGpuReport {
  NodeGpu gpu;
  std::optional<Topology> report;  // unset: not requested, or failed
  std::string failure;             // one line: why it could not be measured
  friend bool operator==(const NodeGpuReport&, const NodeGpuReport&) = default;
};

struct NodeReport {
  std::string generator;
  std::string timestamp;
  bool complete = true;  // false: interrupted, or a part failed
  std::string backend;
  bool simulated = false;
  std::string name;       // for a simulated node
  std::string host_id;    // anonymous, always the same; empty if unknown
  std::string host_name;  // on request
  std::string host_cpu;
  std::string os;
  std::string hwloc_xml;  // hwloc's view of the host, on request and if hwloc is installed
  std::string driver_version;
  std::vector<NumaNode> numa_nodes;
  std::vector<NodeGpuReport> gpus;
  std::vector<PeerLink> peers;
  std::vector<LinkReport> links;
  std::vector<ConcurrentReport> together;
  std::vector<Verdict> verdicts;
  double gpu_seconds = 0;   // total time of the GPUs' own reports
  double link_seconds = 0;  // time of the links
  std::vector<std::string> warnings;
  [[nodiscard]] const LinkReport* link(const Endpoint& from, const Endpoint& to) const;
  friend bool operator==(const NodeReport&, const NodeReport&) = default;
};

// The host memory near a GPU: the one that the system reports (`numa_node`), else the one with most bandwidth both
// ways.
[[nodiscard]] Endpoint near_host(const NodeReport& report, std::size_t gpu, std::optional<std::uint32_t> numa_node);

struct LinkAttributeInfo {
  std::string_view name;
  std::string_view title;
  std::string_view unit;  // "B/s", "ns", "B"
  bool more_is_better = true;
};
[[nodiscard]] std::span<const LinkAttributeInfo> link_attributes();
[[nodiscard]] const LinkAttributeInfo* find_link_attribute(std::string_view name);

struct NodeOptions {
  bool full = false;                                // copies up to 1 GiB, and tries all pairs of simultaneous transfers
  std::function<bool()> ended;                      // called between programs; true ends the measurement
  std::function<void(const std::string&)> on_link;  // called for each link: "gpu0 to gpu1"
};
// Measures all links and adds them to the report. Its places come from Links::info().
void measure_links(Links& links, const NodeOptions& options, NodeReport& report);

// ---- Reports ----

[[nodiscard]] std::string node_to_json(const NodeReport& report);
// Throws the exceptions of read_json().
[[nodiscard]] NodeReport read_node_json(std::string_view text);
[[nodiscard]] bool is_node_json(std::string_view text);
[[nodiscard]] std::string node_to_text(const NodeReport& report, int width);
[[nodiscard]] std::string node_to_html(const NodeReport& report);

}  // namespace gputopo
