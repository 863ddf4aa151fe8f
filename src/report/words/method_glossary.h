// Each method in a sentence or two, for pages that name it. docs/methods has the whole.
#pragma once

#include <string_view>

namespace gputopo::report {

struct MethodWords {
  std::string_view id;    // as a report names it
  std::string_view page;  // of docs/methods
  std::string_view text;
};

// Null for an id that this version does not know.
[[nodiscard]] const MethodWords* find_method(std::string_view id);

}  // namespace gputopo::report
