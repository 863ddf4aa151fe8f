// The true values of a simulated machine, and verdicts on the values of a report.
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
  std::optional<Value> value;  // none: the element does not exist, and each value of it is wrong
  double tolerance = 0;        // of numbers: a smaller error is not wrong, whatever the interval says
  // Loads show the value despite the machine's noise, so a report without it counts as silent.
  bool promised = true;
};

// For both vendors: sizes, lines, latencies, structure, stores, translation, code, scratchpad, bandwidth.
[[nodiscard]] std::vector<Truth> truths_of(const sim::MachineSpec& machine);

// The elements and attributes of the truths, in the form of DiscoverOptions::elements.
[[nodiscard]] std::vector<std::string> names_of(const std::vector<Truth>& truths);

// The measured value beside the vendor's figure of an attribute; any attribute without one is returned unchanged.
[[nodiscard]] Attribute measured_part(const Attribute& attribute);

enum class Verdict {
  kRight,             // the interval holds the truth; names match
  kClose,             // outside the interval, but within the tolerance
  kFlagged,           // wrong, with a flag
  kSilent,            // no value, although the machine shows one
  kRightlySilent,     // no value, and none was promised
  kConfidentlyWrong,  // outside its interval without a flag, or a claim that an existing element does not exist
};

struct Judged {
  Truth truth;
  Verdict verdict = Verdict::kSilent;
  bool has_interval = false;
  bool is_flagged = false;               // whether right or wrong
  std::optional<double> relative_error;  // of a number with a value
  std::string text;                      // "l1.size: 4096 [4096, 4096] by packed_places, truth 6144"
};

[[nodiscard]] Judged judge(const Truth& truth, const Topology& topology);

}  // namespace gputopo::truth
