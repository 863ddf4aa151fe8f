#include "cli/formats.h"

#include "gputopo/report.h"

namespace gputopo::cli {

const std::vector<Format>& formats() {
  static const std::vector<Format> kFormats = {
      {"--json", "Write the report as JSON; for each of these, '-' is standard output instead of the table", to_json},
      {"--html", "Write one self-contained page with plots of all samples", to_html},
      {"--markdown", "Write the report as Markdown with plots", to_markdown},
      {"--svg", "Write a drawing of the chip", to_svg},
      {"--csv", "Write the values as CSV, one a line", to_csv},
  };
  return kFormats;
}

}  // namespace gputopo::cli
