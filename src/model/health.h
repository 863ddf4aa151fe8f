// Judges the faults that a GPU counts itself. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gputopo/catalogue.h"
#include "gputopo/model.h"

namespace gputopo {

struct HealthFinding {
  AttributeId attribute;
  std::string text;       // "3 uncorrected ECC errors"
  std::string next_step;  // what to do
  friend bool operator==(const HealthFinding&, const HealthFinding&) = default;
};

// The values of a device that show a fault by themselves. A value that is unknown shows nothing.
[[nodiscard]] std::vector<HealthFinding> judge_health(const AttributeMap& device);

// How many of the faults that a GPU can show itself are known, and which are not.
struct KnownFaults {
  std::size_t known = 0;
  std::vector<AttributeId> unknown;
};
[[nodiscard]] KnownFaults known_faults(const AttributeMap& device);

// All counters that are not zero, also those that are no fault: "Corrected ECC errors: 12, PCIe replays: 3".
[[nodiscard]] std::string health_text(const AttributeMap& device);

}  // namespace gputopo
