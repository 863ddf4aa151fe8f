// The command line of `gputopo fleet`.
#pragma once

#include "cli/fleet.h"

namespace CLI {
class App;
}

namespace gputopo::cli {

// Adds the commands 'merge', 'report', 'forget' and 'document'.
void add_fleet_commands(CLI::App& fleet, FleetOptions& options);

}  // namespace gputopo::cli
