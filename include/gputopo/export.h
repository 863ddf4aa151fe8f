// Reports in the formats of other tools. Each holds what the report has of what the tool reads, in the tool's own
// units.
//
// Every function throws FormatError, in one line that names the value and what measures it, where the report lacks what
// the tool cannot do without. Text of devices and files is escaped as the format needs it.
#pragma once

#include <string>

#include "gputopo/model.h"

namespace gputopo {

// The JSON of MT4G 1.x, as sys-sage 1.1 reads it.
[[nodiscard]] std::string to_mt4g_json(const Topology& topology);

// The XML of hwloc 2.0: the GPU as a machine of its own, its SMs as cores.
[[nodiscard]] std::string to_hwloc_xml(const Topology& topology);

// A shell script that adds what was found out to the XML that hwloc made of the host.
[[nodiscard]] std::string to_hwloc_annotate(const Topology& topology);

}  // namespace gputopo
