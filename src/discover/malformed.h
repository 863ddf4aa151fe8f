// A bug in one step must not cost the report: nobody could read it.
#pragma once

#include "gputopo/model.h"

namespace gputopo {

// Withdraws each value whose sample tables have columns of different lengths, and warns that this is a bug.
void withdraw_malformed(Topology& topology);

}  // namespace gputopo
