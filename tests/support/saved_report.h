// Reads the saved reports in tests/reports.
#pragma once

#include <string>

#include "gputopo/file.h"
#include "gputopo/report.h"

namespace gputopo::test {

// "h200", "mi300x", "gt200".
inline Topology saved_report(const std::string& name) {
  return read_json(read_file(GPUTOPO_SOURCE_DIR "/tests/reports/" + name + ".json"));
}

}  // namespace gputopo::test
