#include "device/launch/busy_warning.h"

#include <fmt/format.h>

namespace gputopo::launch {

std::string busy_warning(std::uint32_t others, std::optional<std::uint32_t> busy_percent) {
  constexpr std::uint32_t kAtWorkPercent = 5;
  if (others == 0 || (busy_percent && *busy_percent < kAtWorkPercent)) return {};
  return fmt::format(
      "before the measurement, {} other process{} {}: values may be disturbed; measure again when the GPU is idle",
      others, others == 1 ? "" : "es",
      busy_percent ? fmt::format("kept this GPU {}% busy", *busy_percent) : "had memory on this GPU");
}

}  // namespace gputopo::launch
