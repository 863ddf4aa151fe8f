// The answers of a node, kept in FOLDER/links.json.
#pragma once

#include <memory>
#include <string>

#include "gputopo/links.h"

namespace gputopo::node {

// Throws FileError and FormatError.
[[nodiscard]] std::unique_ptr<Links> open_recorded_links(const std::string& folder);
// The path of a GPU's recording in the folder of its node.
[[nodiscard]] std::string gpu_recording_path(const std::string& folder, std::size_t gpu);

}  // namespace gputopo::node
