// Runs transfers over a vendor's driver.
#pragma once

#include <memory>

#include "device/node/link_driver.h"
#include "gputopo/links.h"

namespace gputopo::node {

// Opens the GPUs at the first transfer.
[[nodiscard]] std::unique_ptr<Links> run_links(std::unique_ptr<LinkDriver> driver, NodeInfo info);

}  // namespace gputopo::node
