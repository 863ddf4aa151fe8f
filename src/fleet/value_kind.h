// What a path of the store stands for: which way is better, whether it is a constant of the model, and of which parts
// of a GPU it tells. From the catalogue; what that does not know, from the unit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gputopo/catalogue.h"

namespace gputopo::fleet {

// Parts of a GPU that a fault has as a whole: their values are also judged together.
enum class Aspect : std::uint8_t {
  kMemory,
  kL2,
  kSmCaches,
  kArithmetic,
  kTranslation,
  kCode,
  kOnChipRates,  // bandwidths and rates of what runs at the chip's clock
  kLinks,
  kAll,
};
inline constexpr std::size_t kAspects = 9;
// "device memory"; "the chip's clock".
[[nodiscard]] std::string_view name_of(Aspect aspect);

struct ValueKind {
  Better better = Better::kNeither;
  bool is_structure = false;  // a count or a capacity: the same on every GPU of a model, if measured right
  bool is_of_chip = false;    // and of the chip as a whole: SMs, L2, memory
  bool is_of_host = false;    // tells of the host, and is not judged
  std::uint32_t aspects = 0;  // bits by Aspect
  std::string link;           // "gpu0-gpu1"; empty: of the GPU
  std::string attribute;      // "copy_bandwidth"

  [[nodiscard]] bool has(Aspect aspect) const { return (aspects >> static_cast<unsigned>(aspect) & 1U) != 0; }
};

[[nodiscard]] ValueKind kind_of_value(std::string_view path, std::string_view unit);

}  // namespace gputopo::fleet
