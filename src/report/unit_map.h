// Which SMs (CUs) belong together, as far as the model knows: near one L2 partition, on one die, behind one cache.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gputopo/model.h"

namespace gputopo::report {

using UnitGroups = std::vector<std::vector<int>>;  // ids of SMs

struct UnitLevel {
  std::string name;    // of one group: "L2 partition 1" where numbered, else "GPC"
  std::string shared;  // what its members have in common: "near one part of the L2 cache"
  bool numbered = false;
  UnitGroups groups;
};

// Levels that nest, the outermost first: every group lies in one group of the level before. What does not nest, what is
// one group of all and what are groups of one are left out.
[[nodiscard]] std::vector<UnitLevel> unit_levels(const Topology& topology);

// The members of `inner`'s groups that lie within `outer`, in order; those in no group of `inner` as the last one.
[[nodiscard]] UnitGroups groups_within(const UnitGroups& inner, const std::vector<int>& outer);

// "0+1+16" as numbers; empty where the text is no such list.
[[nodiscard]] std::vector<int> parse_unit_group(std::string_view text);

// "0-7, 16-23" for {0, ..., 7, 16, ..., 23}.
[[nodiscard]] std::string unit_ranges(const std::vector<int>& units);

// A list of groups of SMs in a few words: "1 group of 68, 1 group of 64", "66 groups of 2". Empty where the value is
// none.
[[nodiscard]] std::string unit_groups_text(const Value& value);
// Each group's ranges; empty where the value is no list of groups.
[[nodiscard]] std::vector<std::string> unit_groups_ranges(const Value& value);

}  // namespace gputopo::report
