// Finds values that differ between two reports by more than their intervals allow.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gputopo/catalogue.h"
#include "gputopo/model.h"

namespace gputopo::report {

// Attributes of the environment of the measurement. They are reported, but they are not differences of the GPU.
[[nodiscard]] bool is_environment(std::string_view group, std::string_view attribute);

struct Difference {
  std::string group;  // "gpu", "compute" or a memory element's id
  std::string title;  // "L2 cache"
  std::string attribute;
  const Attribute* first = nullptr;  // null: the report lacks the attribute
  const Attribute* second = nullptr;
  // Change from the first to the second: 0.1 is 10% more. Unset if either is not a number, which ranks highest.
  std::optional<double> relative;
};

// Returns the catalogue entry. For an attribute of a later version: one with the same unit, or null.
[[nodiscard]] const AttributeInfo* info_of(const Difference& difference);

// Direction of a change, by the catalogue's entry; neither if the catalogue does not say.
enum class Change : std::uint8_t { kNeither, kBetter, kWorse };
[[nodiscard]] Change change_of(const Difference& difference);

struct Comparison {
  const Topology* first = nullptr;
  const Topology* second = nullptr;
  std::size_t compared = 0;             // values in both reports
  std::vector<Difference> differences;  // grouped; the group and the value with the largest difference come first
  // Reasons why the comparison may mislead:
  std::vector<std::string> other_devices;  // different kinds of device; a gate treats that as a violation
  std::vector<std::string> notes;          // about the reports: incomplete, simulated
  std::vector<std::string> environment;    // environment of the measurements: driver, host

  // Returns all of them in this order.
  [[nodiscard]] std::vector<std::string> all_notes() const;
};

// Names of the two reports in notes.
struct SideNames {
  std::string first = "the first report";
  std::string second = "the second report";
};

// Points into both reports, which must outlive the result. Skips values left out by --only or --attribute.
[[nodiscard]] Comparison compare(const Topology& first, const Topology& second, const SideNames& names = {});

// Finds a value by group and attribute; null if the report lacks it.
[[nodiscard]] const Attribute* find_value(const Topology& topology, const std::string& group,
                                          const std::string& attribute);
// Finds the operation of a group "instructions.fma.f32"; null for other groups.
[[nodiscard]] const Instruction* instruction_of(const Topology& topology, std::string_view group);

// "9.13 TB/s (9.1 to 9.2 TB/s)", or the reason why there is no value.
[[nodiscard]] std::string side_text(const Attribute* attribute);
// "+11%"; "" if there is no ratio.
[[nodiscard]] std::string relative_text(const Difference& difference);
// "+11%, worse": adds the direction if it is known.
[[nodiscard]] std::string change_text(const Difference& difference);

}  // namespace gputopo::report
