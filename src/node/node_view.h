// What people read of a node, the same in every format.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gputopo/node.h"

namespace gputopo::node {

// The places of the node, hosts first.
[[nodiscard]] std::vector<Place> places_of(const NodeReport& report);

// The links by their ends: reports of large nodes have tens of thousands.
class LinkIndex {
 public:
  explicit LinkIndex(const NodeReport& report);
  // Null where there is none.
  [[nodiscard]] const Attribute* find(const Place& from, const Place& to, std::string_view name) const;

 private:
  std::map<std::pair<Place, Place>, const LinkReport*> links_;
};

// A table of one attribute, from the row's place to the column's. Empty rows are not in it.
struct Matrix {
  std::string_view attribute;
  std::string title;  // with the unit: "Copies by the copy engine, GB/s"
  struct Row {
    Place from;
    std::vector<std::string> cells;  // by column, "" where there is no value
  };
  std::vector<Place> columns;
  std::vector<Row> rows;
};
// Those that have values.
[[nodiscard]] std::vector<Matrix> matrices_of(const NodeReport& report);

// "NVIDIA H200, NUMA node 0 (CPUs 0-31), PCIe 5.0 x16".
[[nodiscard]] std::string gpu_text(const NodeReport& report, std::size_t index);
// "18 x 26.6 GB/s nvswitch".
[[nodiscard]] std::string peer_text(const PeerLink& peer);
// "2 x NVIDIA H200", one for each model.
[[nodiscard]] std::string models_text(const NodeReport& report);

// How the GPUs are joined: a line for each way, with the pairs that have it.
[[nodiscard]] std::vector<std::string> peer_texts(const NodeReport& report);

// Which of the transfers at once share a part, a line each; empty where nobody asked or none does.
[[nodiscard]] std::vector<std::string> sharing_texts(const TogetherReport& entry);

// Why something is missing or doubtful, a line each.
[[nodiscard]] std::vector<std::string> remarks_of(const NodeReport& report);

}  // namespace gputopo::node
