// Memory spaces: a load names one, and it decides which caches the load passes.
#pragma once

#include <cstdint>
#include <string_view>

namespace gputopo {

enum class Space : std::uint8_t {
  kGlobal,          // cached at every level (PTX ld.global.ca)
  kGlobalBypassL1,  // cached from L2 on (PTX ld.global.cg)
  kReadOnly,        // the read-only data path (PTX ld.global.nc)
  kTexture,         // a texture fetch from linear memory (PTX tex.1d)
  kConstant,        // the constant bank (PTX ld.const); at most 64 KiB per array
  kShared,          // on-chip scratchpad (PTX ld.shared, CDNA ds_read)
  kScalar,          // the scalar data path, one load per warp (CDNA s_load)
  kLocal,           // per-thread memory for spilled registers (PTX ld.local); at most 1 MiB per program
};
inline constexpr Space kAllSpaces[] = {Space::kGlobal,   Space::kGlobalBypassL1, Space::kReadOnly, Space::kTexture,
                                       Space::kConstant, Space::kShared,         Space::kScalar,   Space::kLocal};

[[nodiscard]] std::string_view to_string(Space space);

// Device memory by ordinary loads and stores. Only these spaces allow kStore and kPaired steps.
[[nodiscard]] constexpr bool is_global(Space space) {
  return space == Space::kGlobal || space == Space::kGlobalBypassL1;
}

}  // namespace gputopo
