// The output formats of a report: options of discover, replay and show, and formats that the library renders.
#pragma once

#include <string>
#include <vector>

#include "gputopo/model.h"

namespace gputopo::report {

struct Format {
  const char* option;  // "--html"
  const char* help;
  std::string (*render)(const Topology&);
};
[[nodiscard]] const std::vector<Format>& formats();

}  // namespace gputopo::report
