// The checks of a machine's caches, and those that its TLBs share with them.
#pragma once

#include <fmt/format.h>

#include <string>

#include "device/sim/machine/machine.h"
#include "device/sim/machine/rules.h"

namespace gputopo::sim {

// Throws FormatError unless the machine says which of its parts share something of this scope.
void check_scope(const MachineSpec& spec, Scope scope, const std::string& field);

void check_caches(const MachineSpec& spec);

// `geometry` computes how the entries are arranged in sets; its error is thrown again with the name of the field.
template <typename GeometryOf>
void check_geometry(const std::string& field, const GeometryOf& geometry) {
  try {
    static_cast<void>(geometry());
  } catch (const FormatError& error) {
    throw FormatError(fmt::format("{}: {}", field, error.what()));
  }
}

}  // namespace gputopo::sim
