// Which elements are one cache, as far as the report tells.
#pragma once

#include <string>
#include <vector>

#include "gputopo/model.h"

namespace gputopo::report {

// Ids of the elements that are the same cache as this one: those that it names, those that name it, and where a cache
// of code says that constants share it, the cache of constants of its size.
[[nodiscard]] std::vector<std::string> partners_of(const Topology& topology, const MemoryElement& element);

}  // namespace gputopo::report
