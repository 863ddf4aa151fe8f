#include "device/sim/machine/machine.h"

#include <fmt/format.h>

#include <algorithm>

#include "file/shown.h"
#include "gputopo/error.h"

namespace gputopo::sim {

std::optional<SpaceSpec> local_space(const MachineSpec& spec) {
  const auto told = spec.spaces.find(Space::kLocal);
  if (told != spec.spaces.end()) return told->second;
  const auto global = spec.spaces.find(Space::kGlobal);
  if (spec.info.vendor != "NVIDIA" || global == spec.spaces.end() || global->second.path.empty()) return std::nullopt;
  const auto nearest = std::ranges::find(spec.caches, global->second.path.front().cache, &CacheSpec::id);
  if (nearest == spec.caches.end() || is_behind_sms(nearest->scope)) return std::nullopt;
  return global->second;
}

void refuse_silent(const MachineSpec& spec, const std::string& field, const std::string& what) {
  throw NotSupportedError(
      fmt::format("the machine file of {} does not specify {}; add {} to it", shown(spec.info.name), what, field));
}

}  // namespace gputopo::sim
