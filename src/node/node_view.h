// The parts of a node report for people that all formats share.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gputopo/node.h"

namespace gputopo::node {

// The places of the node, hosts first.
[[nodiscard]] std::vector<Endpoint> places_of(const NodeReport& report);

// Finds links by their ends in logarithmic time: reports of large nodes have tens of thousands.
class LinkIndex {
 public:
  explicit LinkIndex(const NodeReport& report);
  // Null if there is no such link or value.
  [[nodiscard]] const Attribute* find(const Endpoint& from, const Endpoint& to, std::string_view name) const;

 private:
  std::map<std::pair<Endpoint, Endpoint>, const LinkReport*> links_;
};

// A table of one attribute, from the row's place to the column's. It has no empty rows.
struct Matrix {
  std::string_view attribute;
  std::string title;  // with the unit: "Copy engine bandwidth, one way, GB/s"
  struct Row {
    Endpoint from;
    std::vector<std::string> cells;  // by column; "" if there is no value
  };
  std::vector<Endpoint> columns;
  std::vector<Row> rows;
};
// Returns only matrices that have values.
[[nodiscard]] std::vector<Matrix> matrices_of(const NodeReport& report);

// "NVIDIA H200, NUMA node 0 (CPUs 0-31), PCIe 5.0 x16".
[[nodiscard]] std::string gpu_text(const NodeReport& report, std::size_t index);
// "18 x 26.6 GB/s nvswitch".
[[nodiscard]] std::string peer_text(const PeerLink& peer);
// "2 x NVIDIA H200"; one entry for each model.
[[nodiscard]] std::string models_text(const NodeReport& report);

// How the GPUs are connected: one line for each kind of connection, with its pairs.
[[nodiscard]] std::vector<std::string> peer_texts(const NodeReport& report);

// One line for each group of simultaneous transfers that share a resource. Empty if none do, or if nobody tested it.
[[nodiscard]] std::vector<std::string> sharing_texts(const ConcurrentReport& entry);

// The number of verdicts by outcome: "12 of 14 parts good, 1 bad, 1 not judged".
[[nodiscard]] std::string judgement_summary(const NodeReport& report);
// "gpu1: its PCIe link runs with 8 of 16 lanes. Reseat the board."
[[nodiscard]] std::string verdict_text(const Verdict& verdict);

// One line for each reason why something is missing or doubtful.
[[nodiscard]] std::vector<std::string> remarks_of(const NodeReport& report);

}  // namespace gputopo::node
