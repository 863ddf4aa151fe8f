#include "model/sm_clock.h"

namespace gputopo {

std::optional<double> sm_clock_mhz(const Attribute& attribute) {
  for (const auto& [name, value] : attribute.conditions) {
    const double* mhz = std::get_if<double>(&value);
    if (name == "sm_clock_mhz" && mhz != nullptr && *mhz > 0) return *mhz;
  }
  return std::nullopt;
}

}  // namespace gputopo
