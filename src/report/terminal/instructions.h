// A report's operations as a table for terminals.
#pragma once

#include <string>
#include <vector>

#include "gputopo/model.h"
#include "report/words/text_table.h"

namespace gputopo::report {

// "f32 66.9 TFLOP/s, ...": the element `peaks`. Empty if it has no values.
[[nodiscard]] std::string peaks_text(const Topology& topology, int width);

// One line per execution unit: its operations, and its peak in lanes per clock. Empty if unknown.
[[nodiscard]] std::string pipes_text(const Topology& topology, int width);

// "add.f32 4.01, ...": latencies, for a report without any operation's throughput. Otherwise empty.
[[nodiscard]] std::string latencies_text(const std::vector<Instruction>& instructions, int width);

// Operation, latency and throughput in as many side-by-side columns as fit, with a legend. Empty without throughputs.
[[nodiscard]] std::string instructions_text(const Topology& topology, const TextStyle& style);

}  // namespace gputopo::report
