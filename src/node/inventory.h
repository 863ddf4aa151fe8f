// Compares the hardware of a node with what it should have. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gputopo/inventory.h"
#include "gputopo/node.h"

namespace gputopo::node {

// A number of GPUs whose name contains a text, as whole words.
struct ExpectedGpus {
  std::uint32_t count = 0;
  std::string model;
  friend bool operator==(const ExpectedGpus&, const ExpectedGpus&) = default;
};
// Reads "8xH200" or "8xH200,1xT4". Nothing if the text has another form.
[[nodiscard]] std::optional<std::vector<ExpectedGpus>> parse_expected_gpus(std::string_view text);
// The models and numbers of an earlier report.
[[nodiscard]] std::vector<ExpectedGpus> expected_gpus(const NodeReport& earlier);

// One verdict for each expected model, and one for each GPU of another model. A model counts only names that no longer
// name claims: "H200 NVL" before "H200".
[[nodiscard]] std::vector<Verdict> judge_counts(const NodeReport& report, const std::vector<ExpectedGpus>& expected);

// Verdicts on SMs, PCIe lanes and NVLinks that a GPU or link had in an earlier report of the same node and lacks now.
[[nodiscard]] std::vector<Verdict> judge_against(const NodeReport& report, const NodeReport& earlier);

// GPUs that the PCI bus shows but no driver. `are_restricted`: the process may see only some.
[[nodiscard]] std::vector<Verdict> judge_hidden(const std::vector<std::string>& visible_addresses,
                                                const std::vector<SystemGpu>& system_gpus, bool are_restricted);

}  // namespace gputopo::node
