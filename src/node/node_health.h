// Shows the faults that GPUs count themselves beside the other findings of a node. Pure.
#pragma once

#include "gputopo/node.h"

namespace gputopo::node {

// Adds a verdict for each fault, and the counters of the GPUs concerned to each verdict that is not good.
void add_health(NodeReport& report);

}  // namespace gputopo::node
