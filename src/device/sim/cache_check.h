// Checks the caches of a machine, and holds the checks that caches and TLBs share.
#pragma once

#include <fmt/format.h>

#include <string>

#include "device/sim/machine/machine.h"
#include "device/sim/machine/rules.h"

namespace gputopo::sim {

// Throws FormatError if `scope` needs a field (sm_groups, info.xcd_count) that the machine does not have.
void check_scope(const MachineSpec& spec, Scope scope, const std::string& field);

void check_caches(const MachineSpec& spec);

// `geometry` computes the division of the entries into sets. Its FormatError gets the name of the field.
template <typename GeometryOf>
void check_geometry(const std::string& field, const GeometryOf& geometry) {
  try {
    static_cast<void>(geometry());
  } catch (const FormatError& error) {
    throw FormatError(fmt::format("{}: {}", field, error.what()));
  }
}

}  // namespace gputopo::sim
