// Suggestions for an unknown name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gputopo {

// Sorts the names so that those whose beginning is most like `wanted` come first. Ignores case.
[[nodiscard]] std::vector<std::string> by_likeness(std::string_view wanted, std::vector<std::string> names);

// Returns "did you mean sim:h200? " with the name whose beginning is most like `wanted`; empty if none is close.
[[nodiscard]] std::string did_you_mean(std::string_view wanted, const std::vector<std::string>& names,
                                       std::string_view prefix = "");

}  // namespace gputopo
