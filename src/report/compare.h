// What differs between two reports, beyond what their intervals allow.
#pragma once

#include <optional>
#include <string>
#include <vector>

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

struct Comparison {
  const Topology* first = nullptr;
  const Topology* second = nullptr;
  std::size_t compared = 0;             // values that both reports have
  std::vector<Difference> differences;  // by group, the group and the value that differ most first
  // Why a comparison may mislead, by whose doing:
  std::vector<std::string> other_devices;  // they are not of one kind of device, which a gate takes for a violation
  std::vector<std::string> notes;          // of the reports: schema versions, incomplete, simulated
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

// "9.13 TB/s (9.1 to 9.2 TB/s)", or why there is none.
[[nodiscard]] std::string side_text(const Attribute* attribute);
// "+11%", "" where there is no ratio.
[[nodiscard]] std::string relative_text(const Difference& difference);

}  // namespace gputopo::report
