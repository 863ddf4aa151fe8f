#include "gputopo/outcome.h"

#include <cstddef>

namespace gputopo {

std::string_view to_string(Outcome outcome) {
  constexpr std::string_view kNames[] = {"good", "bad", "not_judged"};
  return kNames[static_cast<std::size_t>(outcome)];
}

}  // namespace gputopo
