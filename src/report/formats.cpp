#include "report/formats.h"

#include "gputopo/export.h"
#include "gputopo/report.h"

namespace gputopo::report {

const std::vector<Format>& formats() {
  static const std::vector<Format> kFormats = {
      {"--json", "Write the report as JSON; for each of these, '-' is standard output instead of the table", to_json},
      {"--html", "Write one self-contained page with plots of all samples", to_html},
      {"--markdown", "Write the report as Markdown with plots", to_markdown},
      {"--svg", "Write a drawing of the chip", to_svg},
      {"--curve", "Write the plot of latency over footprint as SVG", to_curve_svg},
      {"--csv", "Write the values as CSV, one a line", to_csv},
      {"--mt4g-json", "Write the JSON of MT4G 1.x, for sys-sage", to_mt4g_json},
      {"--mt4g-csv", "Write the CSV of MT4G 0.1, for GPUscout's GUI", to_mt4g_csv},
      {"--hwloc-xml", "Write the GPU as a machine of its own for hwloc: lstopo -i FILE draws it", to_hwloc_xml},
      {"--hwloc-annotate", "Write a shell script that adds the values to hwloc's XML of the host", to_hwloc_annotate},
      {"--accel-sim", "Write parameters of Accel-Sim, for its tuner", to_accel_sim},
      {"--roofline-csv", "Write the ceilings of a roofline, as rocprof-compute's roofline.csv", to_roofline_csv},
      {"--xla", "Write XLA's text of a GPU to compile for", to_xla},
      {"--latex", "Write a LaTeX table and a BibTeX entry for a paper", to_latex},
  };
  return kFormats;
}

}  // namespace gputopo::report
