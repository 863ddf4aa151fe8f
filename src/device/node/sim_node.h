// A simulated node: GPUs, host memories, and segments that transfers share. Its file is the ground truth of the tests.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gputopo/links.h"

namespace gputopo::node {

// A part that transfers go through: a slot, a switch, the ports of a GPU.
struct SegmentSpec {
  std::string name;
  double bytes_per_second = 0;       // rate in the direction that paths name
  double back_bytes_per_second = 0;  // rate in the other direction
  double both_bytes_per_second = 0;  // limit of both together; 0: none
};

// The way between two places, in both directions.
struct PathSpec {
  Endpoint from;
  Endpoint to;
  struct Part {
    std::size_t segment = 0;
    bool is_backward = false;  // whether the way from `from` to `to` passes it backward
  };
  std::vector<Part> over;
  double copy_ns = 0;                   // fixed cost of each copy
  double load_ns = 0;                   // latency of a dependent load
  double atomic_ns = 0;                 // latency of an atomic operation
  double store_ns = 0;                  // time of a store and the fence behind it
  double sm_read_bytes_per_second = 0;  // limit besides the segments; 0: none
  double sm_write_bytes_per_second = 0;
  double pageable_bytes_per_second = 0;
};

struct NodeSpec {
  NodeInfo info;
  std::vector<SegmentSpec> segments;
  std::vector<PathSpec> paths;
  double noise = 0.002;  // relative standard deviation of times
};

// Throws FormatError that names the field.
[[nodiscard]] NodeSpec parse_node(std::string_view text);
[[nodiscard]] std::vector<std::string> builtin_node_names();
[[nodiscard]] std::optional<std::string> builtin_node(std::string_view name);

}  // namespace gputopo::node
