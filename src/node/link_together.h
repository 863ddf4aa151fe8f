// Runs several transfers at the same time: their joint bandwidth, and which of them share a resource.
#pragma once

#include "node/link_runs.h"

namespace gputopo::node {

// Needs the copy_bandwidth of each link.
void measure_together(LinkRuns& runs);

}  // namespace gputopo::node
