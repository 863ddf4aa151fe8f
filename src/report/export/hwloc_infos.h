// The infos of a memory element in both of hwloc's formats: pairs of a name and a text.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "gputopo/model.h"

namespace gputopo::report {

using HwlocInfo = std::pair<std::string, std::string>;

// "GputopoL2LatencyCycles", "281.19": for every element, the attributes that people compare. The name ends with the
// unit. Texts are visible lines, not escaped.
[[nodiscard]] std::vector<HwlocInfo> hwloc_infos(const Topology& topology);

}  // namespace gputopo::report
