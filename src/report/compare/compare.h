// What differs between two reports, beyond what their intervals allow.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gputopo/catalogue.h"
#include "gputopo/model.h"

namespace gputopo::report {

// Attributes of what ran the measurement rather than of the GPU: told, and no difference of the device.
[[nodiscard]] bool is_environment(std::string_view group, std::string_view attribute);

struct Difference {
  std::string group;  // "gpu", "compute" or the id of a memory element
  std::string title;  // "L2 cache"
  std::string attribute;
  const Attribute* first = nullptr;  // null: this report has no such attribute
  const Attribute* second = nullptr;
  // Of the second to the first: 0.1 is a tenth more. Unset where either is no number, which ranks above all.
  std::optional<double> relative;
};

// What the catalogue has of it, or, of an attribute of a later version, of one in its unit; null where neither is.
[[nodiscard]] const AttributeInfo* info_of(const Difference& difference);

// Which way a value went, by what the catalogue says of its attribute; neither where it says nothing.
enum class Change : std::uint8_t { kNeither, kBetter, kWorse };
[[nodiscard]] Change change_of(const Difference& difference);

struct Comparison {
  const Topology* first = nullptr;
  const Topology* second = nullptr;
  std::size_t compared = 0;             // values that both reports have
  std::vector<Difference> differences;  // by group, the group and the value that differ most first
  // Why a comparison may mislead, by whose doing:
  std::vector<std::string> other_devices;  // they are not of one kind of device, which a gate takes for a violation
  std::vector<std::string> notes;          // of the reports: incomplete, simulated
  std::vector<std::string> environment;    // of what ran the measurements: driver, host

  // All of them, in this order.
  [[nodiscard]] std::vector<std::string> all_notes() const;
};

// What the two are called in notes.
struct SideNames {
  std::string first = "the first report";
  std::string second = "the second report";
};

// Points into both reports, which must live on. Values left out by --only or --attribute are not compared.
[[nodiscard]] Comparison compare(const Topology& first, const Topology& second, const SideNames& names = {});

// A value by its group and attribute; null where the report has none.
[[nodiscard]] const Attribute* find_value(const Topology& topology, const std::string& group,
                                          const std::string& attribute);
// Of a group "instructions.fma.f32"; null of any other.
[[nodiscard]] const Instruction* instruction_of(const Topology& topology, std::string_view group);

// "9.13 TB/s (9.1 to 9.2 TB/s)", or why there is none.
[[nodiscard]] std::string side_text(const Attribute* attribute);
// "+11%", "" where there is no ratio.
[[nodiscard]] std::string relative_text(const Difference& difference);
// "+11%, worse": with the way that it went, where that is known.
[[nodiscard]] std::string change_text(const Difference& difference);

}  // namespace gputopo::report
