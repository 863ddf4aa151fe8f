#include "report/formats.h"

#include "gputopo/export.h"
#include "gputopo/report.h"

namespace gputopo::report {

const std::vector<Format>& formats() {
  static const std::vector<Format> kFormats = {
      {"--json", "Write the report as JSON; here and below, FILE '-' means standard output, in place of the table",
       to_json},
      {"--html", "Write one self-contained HTML page with plots of all samples", to_html},
      {"--markdown", "Write the report as Markdown with plots", to_markdown},
      {"--svg", "Write a drawing of the chip as SVG", to_svg},
      {"--curve", "Write the plot of latency over footprint as SVG", to_curve_svg},
      {"--csv", "Write the values as CSV, one per line", to_csv},
      {"--mt4g-json", "Write MT4G 1.x JSON, for sys-sage", to_mt4g_json},
      {"--mt4g-csv", "Write MT4G 0.1 CSV, for GPUscout's GUI", to_mt4g_csv},
      {"--hwloc-xml", "Write hwloc XML with the GPU as a separate machine: lstopo -i FILE draws it", to_hwloc_xml},
      {"--hwloc-annotate", "Write a shell script that adds the values to hwloc's XML of the host", to_hwloc_annotate},
      {"--accel-sim", "Write Accel-Sim parameters, for its tuner", to_accel_sim},
      {"--roofline-csv", "Write roofline ceilings in the format of rocprof-compute's roofline.csv", to_roofline_csv},
      {"--xla", "Write XLA's description of the GPU as a compilation target", to_xla},
      {"--latex", "Write a LaTeX table and a BibTeX entry for a paper", to_latex},
  };
  return kFormats;
}

}  // namespace gputopo::report
