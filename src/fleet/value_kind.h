// Meaning of a store path: which direction is better, whether it is a constant of the model, and which parts of a GPU
// it describes. Known from the catalogue, otherwise from the unit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gputopo/catalogue.h"

namespace gputopo::fleet {

// Parts of a GPU that can fail as a whole. Their values are also judged together.
enum class Aspect : std::uint8_t {
  kMemory,
  kL2,
  kSmCaches,
  kArithmetic,
  kTranslation,
  kCode,
  kOnChipRates,  // bandwidths and rates that follow the chip's clock
  kLinks,
  kAll,
};
inline constexpr std::size_t kAspects = 9;
// "device memory"; "the chip's clock".
[[nodiscard]] std::string_view name_of(Aspect aspect);

// Attribute with the node's own judgement of a part (verdicts.h). Reading::source is the outcome.
inline constexpr std::string_view kVerdictAttribute = "verdict";
// True for the path of a verdict: "device.verdict", "link.gpu0-gpu1.verdict".
[[nodiscard]] inline bool is_verdict(std::string_view path) {
  return path.ends_with(kVerdictAttribute) && path.substr(0, path.size() - kVerdictAttribute.size()).ends_with('.');
}

// Attribute with the number of parallel lanes of a link.
inline constexpr std::string_view kLanes = "lanes";
// Attribute with what the link can carry: "PCIe 5.0 x16".
inline constexpr std::string_view kCapacity = "capacity";

struct ValueKind {
  Better better = Better::kNeither;
  bool is_structure = false;  // a count or capacity: equal on all GPUs of a model if measured correctly
  bool is_of_chip = false;    // a structure of the whole chip: SMs, L2, memory
  bool is_compared = true;    // with other GPUs; not what describes the host, or depends on the load
  bool is_verdict = false;
  std::uint32_t aspects = 0;  // bit mask by Aspect
  std::string link;           // "gpu0-gpu1"; empty: a value of the GPU itself
  std::string attribute;      // "copy_bandwidth"

  [[nodiscard]] bool has(Aspect aspect) const { return (aspects >> static_cast<unsigned>(aspect) & 1U) != 0; }
};

[[nodiscard]] ValueKind kind_of_value(std::string_view path, std::string_view unit);

}  // namespace gputopo::fleet
