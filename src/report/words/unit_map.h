// Groups of SMs (CUs) that the model knows: near one L2 partition, on one die, behind one cache.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gputopo/model.h"

namespace gputopo::report {

using Units = std::vector<std::uint32_t>;  // SM numbers

inline constexpr const char* kOnOneDie = "on one die";

struct UnitLevel {
  std::string name;    // name of one group: "L2 partition 1" if numbered, otherwise "GPC"
  std::string shared;  // what the members share: "near one partition of the L2 cache"
  bool numbered = false;
  std::vector<Units> groups;
};

// Returns nested levels, outermost first: every group lies in one group of the previous level. Omits levels that do not
// nest, that have only one group, or whose groups have one SM each.
[[nodiscard]] std::vector<UnitLevel> unit_levels(const Topology& topology);

// Levels for a drawing, which shows the near L2 part by color. L2 parts are a level only if nothing else groups more
// than a few SMs.
[[nodiscard]] std::vector<UnitLevel> drawn_levels(const Topology& topology);
// Returns which SMs are near which part of a cache; no groups if unknown.
[[nodiscard]] UnitLevel near_parts(const Topology& topology);

// Returns the groups of `inner` within `outer`, in order. SMs of `outer` in no group of `inner` form the last group.
[[nodiscard]] std::vector<Units> groups_within(const std::vector<Units>& inner, const Units& outer);

// "0-7, 16-23" for {0, ..., 7, 16, ..., 23}.
[[nodiscard]] std::string unit_ranges(const Units& units);

// "1 group of 68, 1 group of 64", "66 groups of 2". Empty if the value is not a map, or if an SM is in two groups.
[[nodiscard]] std::string unit_groups_text(const Value& value);
// Returns each group's ranges; empty if the value is not a map.
[[nodiscard]] std::vector<std::string> unit_groups_ranges(const Value& value);

}  // namespace gputopo::report
