// Judges the links of a node by what their own hardware allows, so that a fault shows even if no healthy link is there
// to compare with. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gputopo/node.h"

namespace gputopo::node {

// How the verdicts of a comparison with the other GPUs of the node begin (cli/node_judgement.h).
inline constexpr std::string_view kDiffers = "differs from the other GPUs: ";
inline constexpr std::string_view kNotCompared = "not compared with the other GPUs: ";

// Adds capacity_fraction to each link whose capacity is a bound: those between GPUs, and those with the near host.
void add_capacity_fractions(NodeReport& report);

// Verdicts on each GPU's link with its near host, on each pair of GPUs, and on the number of each GPU's NVLinks. A link
// that should be there and has no measured value, or no known capacity, is not judged.
[[nodiscard]] std::vector<Verdict> judge_links(const NodeReport& report);

}  // namespace gputopo::node
