// A short description of each method for pages that name it. docs/methods has the full text.
#pragma once

#include <string_view>

namespace gputopo::report {

struct MethodWords {
  std::string_view id;    // as in reports
  std::string_view page;  // page in docs/methods
  std::string_view text;
};

// Null for an id that this version does not know.
[[nodiscard]] const MethodWords* find_method(std::string_view id);

}  // namespace gputopo::report
