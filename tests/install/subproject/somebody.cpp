#include "gputopo/model.h"

// Neither the folder src of gputopo nor what it is built with is anybody else's.
#if __has_include("probe/bench/probe_runner.h") || defined(SPDLOG_FMT_EXTERNAL)
#error "gputopo::core gives more than its public headers"
#endif

bool somebody_asks(const gputopo::Topology& topology) {
  const gputopo::Attribute* size = topology.find_attribute("l2", "size");
  return size != nullptr && size->available();
}
