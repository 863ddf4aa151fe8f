// The operations of a report as a table for terminals.
#pragma once

#include <string>
#include <vector>

#include "gputopo/model.h"
#include "report/words/text_table.h"

namespace gputopo::report {

// "vector f32 66.9 TFLOP/s, ...": the most arithmetic of all SMs that an operation of each type did. Nothing where none
// is known.
[[nodiscard]] std::string peaks_text(const std::vector<Instruction>& instructions, int width);

// A line for each execution unit: its operations, and the most lanes a clock. Nothing where they are not known.
[[nodiscard]] std::string pipes_text(const Topology& topology, int width);

// "add.f32 4.01, ...", the latencies of a report that has no throughput of any operation; else nothing.
[[nodiscard]] std::string latencies_text(const std::vector<Instruction>& instructions, int width);

// Operation, latency and throughput, in as many columns beside one another as the width has room for; a legend. Nothing
// where there is no throughput.
[[nodiscard]] std::string instructions_text(const std::vector<Instruction>& instructions, const TextStyle& style);

}  // namespace gputopo::report
