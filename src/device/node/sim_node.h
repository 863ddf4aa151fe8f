// A simulated node: GPUs, memories of the host, and segments that transfers share. Its file is the truth that tests
// hold what is measured to.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gputopo/links.h"

namespace gputopo::node {

// What transfers go through: a slot, a switch, the ports of a GPU.
struct SegmentSpec {
  std::string name;
  double bytes_per_second = 0;       // in the direction that paths name
  double back_bytes_per_second = 0;  // in the other
  double both_bytes_per_second = 0;  // of both together; 0: each has all of its own
};

// The way between two places, in both directions.
struct PathSpec {
  Place from;
  Place to;
  struct Part {
    std::size_t segment = 0;
    bool is_backward = false;  // on the way from `from` to `to`
  };
  std::vector<Part> over;
  double copy_ns = 0;                   // that each copy takes beside its bytes
  double load_ns = 0;                   // of a dependent load across it
  double atomic_ns = 0;                 // of an atomic operation
  double store_ns = 0;                  // of a store and the fence behind it
  double sm_read_bytes_per_second = 0;  // at most, however wide the segments are; 0: as they are
  double sm_write_bytes_per_second = 0;
  double pageable_bytes_per_second = 0;
};

struct NodeSpec {
  NodeInfo info;
  std::vector<SegmentSpec> segments;
  std::vector<PathSpec> paths;
  double noise = 0.002;  // standard deviation of times, as a part of them
};

// Throws FormatError that names the place.
[[nodiscard]] NodeSpec parse_node(std::string_view text);
[[nodiscard]] std::vector<std::string> builtin_node_names();
[[nodiscard]] std::optional<std::string> builtin_node(std::string_view name);

}  // namespace gputopo::node
