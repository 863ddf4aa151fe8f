// The consistency check flags values that cannot all be right. It never changes a value.
#pragma once

#include "gputopo/model.h"

namespace gputopo {

void check_consistency(Topology& topology);

}  // namespace gputopo
