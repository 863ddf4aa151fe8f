// A handmade report with an example of everything: every source, reasons, intervals, flags, details and samples.
#pragma once

#include "gputopo/model.h"

namespace gputopo::test {

[[nodiscard]] Topology sample_topology();

}  // namespace gputopo::test
