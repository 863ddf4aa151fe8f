// The picture of a node: NUMA nodes above, GPUs below, links as wide as they are fast.
#pragma once

#include "gputopo/node.h"
#include "report/drawing/markup.h"

namespace gputopo::node {

// The node as a picture: sockets, GPUs and links as wide as they are fast. A document of its own.
[[nodiscard]] report::Markup node_svg(const NodeReport& report);

}  // namespace gputopo::node
