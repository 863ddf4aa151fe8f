// A report made by hand that has one of everything: every source, reasons, intervals, flags, details and samples.
#pragma once

#include "gputopo/model.h"

namespace gputopo::test {

[[nodiscard]] Topology sample_topology();

}  // namespace gputopo::test
