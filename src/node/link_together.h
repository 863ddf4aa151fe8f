// Several transfers at once: what they get together, and which of them share a part.
#pragma once

#include "node/link_runs.h"

namespace gputopo::node {

// Several transfers at once, once each link is known.
void measure_together(LinkRuns& runs);

}  // namespace gputopo::node
