// Finds elements that the report identifies as one physical cache.
#pragma once

#include <string>
#include <vector>

#include "gputopo/model.h"

namespace gputopo::report {

// Returns the ids of elements that are the same cache as this one: those that it names and those that name it. If a
// code cache reports that it also holds constants, that includes the constant cache of its size.
[[nodiscard]] std::vector<std::string> partners_of(const Topology& topology, const MemoryElement& element);

}  // namespace gputopo::report
