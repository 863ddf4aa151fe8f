// Reports in the formats of other tools. Each contains the values that the tool reads, in the tool's units, as far as
// the report has them. Every function throws FormatError if the report lacks a value that the tool requires; the
// one-line message names the value and what measures it. Text from devices and files is escaped for the format.
#pragma once

#include <string>

#include "gputopo/model.h"

namespace gputopo {

// JSON of MT4G 1.x, as sys-sage 1.1 reads it.
[[nodiscard]] std::string to_mt4g_json(const Topology& topology);

// CSV of MT4G 0.1, as GPUscout's GUI reads it. NVIDIA GPUs only.
[[nodiscard]] std::string to_mt4g_csv(const Topology& topology);

// XML of hwloc 2.0. The GPU is a machine of its own, and its SMs are cores.
[[nodiscard]] std::string to_hwloc_xml(const Topology& topology);

// A shell script that adds the results to an XML file that hwloc wrote on the host.
[[nodiscard]] std::string to_hwloc_annotate(const Topology& topology);

// Parameters for the tuner of Accel-Sim and GPGPU-Sim. NVIDIA GPUs only.
[[nodiscard]] std::string to_accel_sim(const Topology& topology);

// The roofline.csv of rocprof-compute; columns without a measured value are empty.
[[nodiscard]] std::string to_roofline_csv(const Topology& topology);

// XLA's GpuTargetConfigProto in text format.
[[nodiscard]] std::string to_xla(const Topology& topology);

// A LaTeX table of the memories, with a BibTeX entry after \endinput.
[[nodiscard]] std::string to_latex(const Topology& topology);

}  // namespace gputopo
