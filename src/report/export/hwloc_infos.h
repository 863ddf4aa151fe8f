// What both of hwloc's formats say of a memory element: hwloc's infos, a name and a text each.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "gputopo/model.h"

namespace gputopo::report {

using HwlocInfo = std::pair<std::string, std::string>;

// "GputopoL2LatencyCycles", "281.19", of every element and what people compare elements by; the unit ends the name.
// Texts are visible lines, not escaped.
[[nodiscard]] std::vector<HwlocInfo> hwloc_infos(const Topology& topology);

}  // namespace gputopo::report
