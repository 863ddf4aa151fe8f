// Which SMs (CUs) belong together, as far as the model knows: near one L2 partition, on one die, behind one cache.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gputopo/model.h"

namespace gputopo::report {

using Units = std::vector<std::uint32_t>;  // numbers of SMs

inline constexpr const char* kOnOneDie = "on one die";

struct UnitLevel {
  std::string name;    // of one group: "L2 partition 1" where numbered, else "GPC"
  std::string shared;  // what its members have in common: "near one part of the L2 cache"
  bool numbered = false;
  std::vector<Units> groups;
};

// Levels that nest, the outermost first: every group lies in one group of the level before. What does not nest, what is
// one group of all and what are groups of one are left out.
[[nodiscard]] std::vector<UnitLevel> unit_levels(const Topology& topology);

// The same for a drawing, which shows by colours which part of L2 is near: parts are a level only where nothing else
// groups more SMs than a few.
[[nodiscard]] std::vector<UnitLevel> drawn_levels(const Topology& topology);
// Which SMs are near which part of a cache; without groups where that is not known.
[[nodiscard]] UnitLevel near_parts(const Topology& topology);

// The members of `inner`'s groups that lie within `outer`, in order; those in no group of `inner` as the last one.
[[nodiscard]] std::vector<Units> groups_within(const std::vector<Units>& inner, const Units& outer);

// "0-7, 16-23" for {0, ..., 7, 16, ..., 23}.
[[nodiscard]] std::string unit_ranges(const Units& units);

// Groups of SMs in a few words: "1 group of 68, 1 group of 64", "66 groups of 2". Empty where the value is no map:
// none, or an SM is in two groups.
[[nodiscard]] std::string unit_groups_text(const Value& value);
// Each group's ranges; empty where the value is no map.
[[nodiscard]] std::vector<std::string> unit_groups_ranges(const Value& value);

}  // namespace gputopo::report
