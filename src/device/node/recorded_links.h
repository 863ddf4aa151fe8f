// What a node answered, kept in FOLDER/links.json.
#pragma once

#include <memory>
#include <string>

#include "gputopo/links.h"

namespace gputopo::node {

// Throws FileError, FormatError.
[[nodiscard]] std::unique_ptr<Links> open_recorded_links(const std::string& folder);
// Where the recording of a GPU lies in the folder of a node's.
[[nodiscard]] std::string gpu_recording_path(const std::string& folder, std::size_t gpu);

}  // namespace gputopo::node
