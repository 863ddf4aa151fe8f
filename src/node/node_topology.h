// A node's report in the form of one GPU's, so that commands that compare and print reports of GPUs accept nodes.
#pragma once

#include "gputopo/node.h"

namespace gputopo::node {

// Elements are those of each GPU, "gpu0.l2", with "gpu0.device", "gpu0.compute" and "gpu0.instructions.fma.f32" for
// what a GPU's report has beside its memory; and the links, "link.host0-gpu1". The fraction of a link's capacity is
// left out, because it repeats a bandwidth.
[[nodiscard]] Topology as_topology(const NodeReport& report);

// The same GPUs as `report`, each with this one's values, and without links: a baseline of one GPU for a node.
[[nodiscard]] NodeReport node_of_alike(const NodeReport& report, const Topology& gpu);

}  // namespace gputopo::node
