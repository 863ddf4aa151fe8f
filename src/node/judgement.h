// Judges the links of a node by what their own hardware allows, so that a fault shows even if no healthy link is there
// to compare with. Pure.
#pragma once

#include <string>
#include <vector>

#include "gputopo/node.h"

namespace gputopo::node {

// Adds capacity_fraction to each link whose capacity is a bound: those between GPUs, and those with the near host.
void add_capacity_fractions(NodeReport& report);

// The capacity that capacity_fraction compares the link with: "PCIe 5.0 x16". Empty if it is unknown.
[[nodiscard]] std::string capacity_text(const LinkReport& link);

// Verdicts on each GPU's link with its near host, on each pair of GPUs, and on the number of each GPU's NVLinks. A link
// that should be there and has no measured value, or no known capacity, is not judged.
[[nodiscard]] std::vector<Verdict> judge_links(const NodeReport& report);

// The verdicts of a report; those on its links if it has none, because earlier versions did not write any.
[[nodiscard]] std::vector<Verdict> verdicts_of(const NodeReport& report);

}  // namespace gputopo::node
