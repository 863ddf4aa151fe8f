// The consistency check: values that cannot all be right are flagged, never changed.
#pragma once

#include "gputopo/model.h"

namespace gputopo {

void check_consistency(Topology& topology);

}  // namespace gputopo
