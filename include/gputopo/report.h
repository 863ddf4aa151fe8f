// Rendering a model, and reading a saved one back. Nothing here measures.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gputopo/file.h"
#include "gputopo/model.h"

namespace gputopo {

// The document of docs/schema.json, indented by two spaces, with a newline at the end. read_json(to_json(t)) == t,
// except that tables of samples are thinned (docs/reports.md) and text is made UTF-8; the second time nothing changes
// any more.
[[nodiscard]] std::string to_json(const Topology& topology);
// Throws FormatError: not JSON, not a gputopo report, or another schema version (it names both).
[[nodiscard]] Topology read_json(std::string_view text);

// A table for a terminal, at most `width` columns wide, and below it everything else that is known: each value with its
// interval, where it is from, its details and conditions. With a `height`, of lines, that is a choice which fills the
// room that the table, the reasons it refers to and the warnings leave, and the rest is counted. Plain ASCII unless
// `unicode`.
struct TerminalStyle {
  int width = 80;
  bool colour = false;
  bool unicode = false;
  int height = 0;  // 0: as many lines as there are
};
[[nodiscard]] std::string to_terminal(const Topology& topology, const TerminalStyle& style);

// The hierarchy as nested boxes, for a terminal.
[[nodiscard]] std::string to_tree(const Topology& topology, const TerminalStyle& style);

// Where the time of a run went, step by step, the longest first; then the calls of the driver. Empty where the run kept
// no profile.
[[nodiscard]] std::string profile_text(const Topology& topology);

// Every value on a line of its own: element, attribute, value, low, high, unit, source (RFC 4180).
[[nodiscard]] std::string to_csv(const Topology& topology);

// A drawing of the chip, to scale in capacity (logarithmic): a standalone SVG document, light and dark.
[[nodiscard]] std::string to_svg(const Topology& topology);

// Latency over footprint through all levels, as a standalone SVG document, and as a plot of characters.
[[nodiscard]] std::string to_curve_svg(const Topology& topology);
[[nodiscard]] std::string to_plot(const Topology& topology, const TerminalStyle& style);

// Tables, and the drawing and the plots of the samples as SVG images within the text.
[[nodiscard]] std::string to_markdown(const Topology& topology);

// One self-contained page: the drawing, every value and its evidence; light and dark, no network.
[[nodiscard]] std::string to_html(const Topology& topology);

// ---- Several reports ----

// What a device that is a part of a GPU has: what was measured in it, else what each SM of the whole GPU has, else its
// share of what these have together (inferred). A report like any other. Throws UsageError where the reports are no
// such pair.
[[nodiscard]] Topology instance_of(const Topology& full, const Topology& instance);

struct NamedReport {
  std::string path;  // where it is from, as the reader knows it
  Topology topology;
};
// The reports after the first against it: values that differ beyond both their intervals, the largest difference first.
// Two reports or more; throws UsageError for fewer.
[[nodiscard]] bool are_alike(const std::vector<NamedReport>& reports);
[[nodiscard]] std::string diff_to_terminal(const std::vector<NamedReport>& reports, const TerminalStyle& style);
[[nodiscard]] std::string diff_to_json(const std::vector<NamedReport>& reports);
[[nodiscard]] std::string diff_to_html(const std::vector<NamedReport>& reports);

// By what part a value may be worse than a baseline: by class (LATENCY, BANDWIDTH, SIZE, OTHER) or attribute, in
// capitals; 0.05 is 5%.
using Tolerances = std::map<std::string, double>;
[[nodiscard]] Tolerances default_tolerances();
// "LATENCY=5%" and so on, over the defaults. Throws UsageError.
[[nodiscard]] Tolerances parse_tolerances(const std::vector<std::string>& entries);

struct CheckResult {
  struct Violation {
    std::string element;  // empty: of the report as a whole
    std::string attribute;
    std::string text;  // one line
  };
  std::size_t compared = 0;
  std::vector<Violation> violations;
  std::vector<std::string> notes;        // why the comparison may mislead
  std::vector<std::string> environment;  // what ran the two measurements and is not the same: driver, host
};
// A value violates the baseline if it is worse by more than the tolerance and their intervals do not meet, or missing.
[[nodiscard]] CheckResult check(const Topology& topology, const Topology& baseline, const Tolerances& tolerances);
// What takes a second and tells whether a GPU is as it should be, of what the baseline has measured: the latency of
// each element, the bandwidths of shared and device memory and of the caches in front of it, and the size of L2. As
// DiscoverOptions::elements takes it: "l2.latency". Throws FormatError where the baseline has none of these.
[[nodiscard]] std::vector<std::string> quick_check_cells(const Topology& baseline);
[[nodiscard]] std::string check_to_text(const CheckResult& result, const Topology& topology);
[[nodiscard]] std::string check_to_json(const CheckResult& result, const Topology& topology);
// The text format of Prometheus, for node_exporter's textfile collector.
[[nodiscard]] std::string check_to_prometheus(const CheckResult& result, const Topology& topology);
// The same where a report could not be read: a collector must see that the gate does not hold, and people why.
[[nodiscard]] std::string check_failure_to_prometheus(std::string_view problem);

// The element table as a person reads it.
[[nodiscard]] std::string coverage_table();

// Writes each SampleTable as DIR/NAME.csv (RFC 4180). Creates DIR. Throws FileError, and leaves nothing there then.
void write_samples(const Topology& topology, const std::string& directory);

}  // namespace gputopo
