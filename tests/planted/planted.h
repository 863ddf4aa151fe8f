// Included by the copies of sources in which faults are planted (planted.py). One build has all the faults; the
// environment says which one is switched on.
#pragma once

#include <cstdlib>
#include <string_view>

[[nodiscard]] inline bool gputopo_planted(std::string_view fault) {
  static const char* const kSwitchedOn = std::getenv("GPUTOPO_PLANTED_FAULT");
  return kSwitchedOn != nullptr && fault == kSwitchedOn;
}
