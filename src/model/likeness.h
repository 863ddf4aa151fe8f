// What somebody who wrote an unknown name may have meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gputopo {

// The names, those that begin most like `wanted` first; capitals are as good as small letters.
[[nodiscard]] std::vector<std::string> by_likeness(std::string_view wanted, std::vector<std::string> names);

// "did you mean sim:h200? " with the name that begins most like `wanted`; empty where none is like it.
[[nodiscard]] std::string did_you_mean(std::string_view wanted, const std::vector<std::string>& names,
                                       std::string_view prefix = "");

}  // namespace gputopo
