// Judges a node beyond its links: whether all GPUs are there, and whether one differs from the others.
#pragma once

#include <optional>
#include <vector>

#include "cli/options.h"
#include "gputopo/error.h"
#include "gputopo/node.h"
#include "node/inventory.h"

namespace gputopo::cli {

// The hardware that the node should have, from --expect.
struct Expectation {
  std::vector<node::ExpectedGpus> gpus;
  std::optional<NodeReport> earlier;
};

// Call it before the measurement, so that a mistake costs no time. Throws the exceptions of read_node_json().
[[nodiscard]] Expectation read_expectation(const Options& options);

// Adds verdicts to the report: on the number of GPUs, and on those that the PCI bus shows but no driver.
void judge_inventory(const Expectation& expectation, NodeReport& report);

// Compares the GPUs of the node with each other, as a fleet of one host. At least three are needed.
void judge_gpus(NodeReport& report);

// Returns the exit code for a node without a usable GPU. An expectation or the PCI bus may still show that one is
// missing.
[[nodiscard]] int judge_empty_node(const Options& options, const Expectation& expectation, const NoGpuError& error);

}  // namespace gputopo::cli
