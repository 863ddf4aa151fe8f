// Draws a node: NUMA nodes on top, GPUs below, and links whose width grows with their bandwidth.
#pragma once

#include "gputopo/node.h"
#include "report/drawing/markup.h"

namespace gputopo::node {

// Returns a complete SVG document.
[[nodiscard]] report::Markup node_svg(const NodeReport& report);

}  // namespace gputopo::node
