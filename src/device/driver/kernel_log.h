// Errors of GPUs in the kernel log.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gputopo {

// The codes of NVIDIA's error messages (Xids) about the GPU at an address, each once and ascending: "48, 79"; "none".
[[nodiscard]] std::string xids_in(std::string_view log, const std::string& pci_address);

// The same from the kernel log since boot, as far as the kernel keeps it: GPUTOPO_KMSG, or "/dev/kmsg". Nothing if this
// process may not read it.
[[nodiscard]] std::optional<std::string> read_xids(const std::string& pci_address);

}  // namespace gputopo
