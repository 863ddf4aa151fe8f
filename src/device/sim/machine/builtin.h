// The files of machines/ that are embedded in the binary (cmake/embed_machines.cmake writes the tables).
#pragma once

#include <string_view>

namespace gputopo::sim {

struct Builtin {
  std::string_view name;
  std::string_view text;
  std::string_view info;  // only the "info" object of `text`; empty for a node
};

extern const Builtin kBuiltinMachines[];
extern const unsigned kBuiltinMachineCount;
extern const Builtin kBuiltinNodes[];
extern const unsigned kBuiltinNodeCount;

}  // namespace gputopo::sim
