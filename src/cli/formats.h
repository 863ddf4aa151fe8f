// The formats that a report can be written in, as options of discover, replay and show.
#pragma once

#include <string>
#include <vector>

#include "gputopo/model.h"

namespace gputopo::cli {

struct Format {
  const char* option;  // "--html"
  const char* help;
  std::string (*render)(const Topology&);
};
[[nodiscard]] const std::vector<Format>& formats();

}  // namespace gputopo::cli
