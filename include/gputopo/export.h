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

// The CSV of MT4G 0.1, of NVIDIA's GPUs, as GPUscout's GUI reads it.
[[nodiscard]] std::string to_mt4g_csv(const Topology& topology);

// The XML of hwloc 2.0: the GPU as a machine of its own, its SMs as cores.
[[nodiscard]] std::string to_hwloc_xml(const Topology& topology);

// A shell script that adds what was found out to the XML that hwloc made of the host.
[[nodiscard]] std::string to_hwloc_annotate(const Topology& topology);

// Parameters of Accel-Sim and GPGPU-Sim, of NVIDIA's GPUs, for their tuner.
[[nodiscard]] std::string to_accel_sim(const Topology& topology);

// rocprof-compute's roofline.csv; columns without a measured value are empty.
[[nodiscard]] std::string to_roofline_csv(const Topology& topology);

// XLA's GpuTargetConfigProto, as text.
[[nodiscard]] std::string to_xla(const Topology& topology);

// A LaTeX table of the memories, and a BibTeX entry behind \endinput.
[[nodiscard]] std::string to_latex(const Topology& topology);

}  // namespace gputopo
