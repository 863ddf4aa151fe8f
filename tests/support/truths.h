// What is true of a simulated machine, value by value, and what a report's values are against it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/sim/machine/machine.h"
#include "gputopo/model.h"

namespace gputopo::truth {

struct Truth {
  std::string element;
  std::string attribute;
  std::optional<Value> value;  // none: the element is not there, and each value of it is wrong
  double tolerance = 0;        // of numbers: off by no more is not wrong, whatever the interval says
  // Loads show it, as far as the machine's own noise goes: a report without it is silent where it should not be.
  bool promised = true;
};

// Of a machine of either vendor: sizes, lines, latencies, structure, stores, translation, code, scratchpad, bandwidth.
[[nodiscard]] std::vector<Truth> truths_of(const sim::MachineSpec& machine);

// The elements and attributes of the truths as DiscoverOptions::elements takes them.
[[nodiscard]] std::vector<std::string> names_of(const std::vector<Truth>& truths);

// Of a value beside whose figure, the vendor's, stands what was measured: that. Any other as it is.
[[nodiscard]] Attribute measured_part(const Attribute& attribute);

enum class Verdict {
  kRight,             // its interval holds the truth; names are the truth's
  kClose,             // not in the interval, but within the tolerance
  kFlagged,           // wrong, and a flag says that it may be
  kSilent,            // no value, though the machine shows it
  kRightlySilent,     // no value, and none was promised
  kConfidentlyWrong,  // neither in its interval nor flagged; or a claim that what is there is not
};

struct Judged {
  Truth truth;
  Verdict verdict = Verdict::kSilent;
  bool has_interval = false;
  bool is_flagged = false;               // whether right or wrong
  std::optional<double> relative_error;  // of a number that has a value
  std::string text;                      // "l1.size: 4096 [4096, 4096] by packed_places, truth 6144"
};

[[nodiscard]] Judged judge(const Truth& truth, const Topology& topology);

}  // namespace gputopo::truth
