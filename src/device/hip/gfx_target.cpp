#include "device/hip/gfx_target.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "gputopo/error.h"

namespace gputopo::hip {

const std::vector<GfxTarget>& gfx_targets() {
  // The driver reports the memory clock of CDNA3 and later as half of the data sheets' value: HBM3 moves four words in
  // one clock of the driver and two in one of the data sheets.
  static const std::vector<GfxTarget> kTargets = {
      {"gfx906", "GCN5 (Vega 20)", "glc", "glc", "glc slc", "", 2, false, 1},
      {"gfx908", "CDNA", "glc", "glc", "glc slc", "", 3, false, 1},
      {"gfx90a", "CDNA2", "glc", "glc", "glc slc", "", 3, false, 1},
      {"gfx942", "CDNA3", "sc1", "sc0", "sc0 sc1", " sc1", 2, true, 2},
      {"gfx950", "CDNA4", "sc1", "sc0", "sc0 sc1", " sc1", 2, true, 2},
  };
  return kTargets;
}

bool has_kernels_for(const std::string& name) {
  return std::any_of(gfx_targets().begin(), gfx_targets().end(),
                     [&](const GfxTarget& target) { return target.name == name.substr(0, name.find(':')); });
}

const GfxTarget& gfx_target(const std::string& name) {
  const std::string base = name.substr(0, name.find(':'));
  std::vector<std::string> known;
  for (const GfxTarget& target : gfx_targets()) {
    if (target.name == base) return target;
    known.push_back(target.name);
  }
  throw NotSupportedError(
      fmt::format("{}: gputopo has no kernels for this GPU's instruction set; it has kernels for {}", base,
                  fmt::join(known, ", ")));
}

void check_space(Space space) {
  if (space == Space::kLocal) {
    throw NotSupportedError(
        "local memory is measured only on NVIDIA GPUs; scratch memory of AMD GPUs cannot be measured yet");
  }
  if (std::ranges::find(kHipSpaces, space) == std::end(kHipSpaces)) {
    throw NotSupportedError(fmt::format("AMD GPUs have no {} memory space", to_string(space)));
  }
}

std::uint32_t die_of(const GfxTarget& target, std::uint32_t hardware_id) {
  return hardware_id >> (target.engine_bits + kCuBits);
}

}  // namespace gputopo::hip
