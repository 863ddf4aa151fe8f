// Rendering a model, and reading a saved one. Nothing here measures.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gputopo/file.h"
#include "gputopo/model.h"
#include "gputopo/outcome.h"

namespace gputopo {

// The document of docs/schema.json, indented by two spaces, with a newline at the end. read_json(to_json(t)) == t,
// except that sample tables are thinned (docs/reports.md) and text is made UTF-8. A second round trip changes nothing.
[[nodiscard]] std::string to_json(const Topology& topology);
// Throws FormatError for text that is not JSON, not a gputopo report, or of another schema version (it names both).
[[nodiscard]] Topology read_json(std::string_view text);

// A table for a terminal, at most `width` columns wide, and below it all other values with interval, source, details
// and conditions. With a `height` in lines, only a choice of these is shown: it fills the space that the table, the
// reasons that it refers to and the warnings leave, and the rest is counted. Plain ASCII unless `unicode` is set.
struct TerminalStyle {
  int width = 80;
  bool colour = false;
  bool unicode = false;
  int height = 0;  // 0: unlimited
};
[[nodiscard]] std::string to_terminal(const Topology& topology, const TerminalStyle& style);

// The hierarchy as nested boxes for a terminal.
[[nodiscard]] std::string to_tree(const Topology& topology, const TerminalStyle& style);

// The time of a run by step, longest first, then the driver calls. Empty without a profile.
[[nodiscard]] std::string profile_text(const Topology& topology);

// One value per line: element, attribute, value, low, high, unit, source (RFC 4180).
[[nodiscard]] std::string to_csv(const Topology& topology);

// A drawing of the chip with areas by capacity (logarithmic scale): a standalone SVG document, light and dark.
[[nodiscard]] std::string to_svg(const Topology& topology);

// Latency over footprint through all levels, as a standalone SVG document and as a plot of characters.
[[nodiscard]] std::string to_curve_svg(const Topology& topology);
[[nodiscard]] std::string to_plot(const Topology& topology, const TerminalStyle& style);

// Tables, with the drawing and the sample plots as inline SVG images.
[[nodiscard]] std::string to_markdown(const Topology& topology);

// One self-contained page: the drawing, every value and its evidence. Light and dark, without network access.
[[nodiscard]] std::string to_html(const Topology& topology);

// ---- Several reports ----

// The report of a device that is a part of a GPU: values measured in it, otherwise the SM values of the whole GPU,
// otherwise its share of shared resources (inferred). Throws UsageError if the reports are no such pair.
[[nodiscard]] Topology instance_of(const Topology& full, const Topology& instance);

struct NamedReport {
  std::string path;  // the source, as the reader knows it
  Topology topology;
};
// Compare the later reports with the first: values that differ beyond both of their intervals, largest difference
// first. They throw UsageError for fewer than two reports.
[[nodiscard]] bool are_alike(const std::vector<NamedReport>& reports);
[[nodiscard]] std::string diff_to_terminal(const std::vector<NamedReport>& reports, const TerminalStyle& style);
[[nodiscard]] std::string diff_to_json(const std::vector<NamedReport>& reports);
[[nodiscard]] std::string diff_to_html(const std::vector<NamedReport>& reports);

// How much worse a value may be (0.05 is 5%), by class (LATENCY, BANDWIDTH, SIZE, OTHER) or attribute, in capitals.
using Tolerances = std::map<std::string, double>;
[[nodiscard]] Tolerances default_tolerances();
// Reads "LATENCY=5%" and the like, over the defaults. Throws UsageError.
[[nodiscard]] Tolerances parse_tolerances(const std::vector<std::string>& entries);

// What must be judged beside the values of a baseline. Otherwise a note says what is not.
struct Requirements {
  bool values = false;  // the values of the report, which takes a baseline
  bool faults = false;  // each kind of fault that a GPU can count itself
  bool links = false;   // each part of a node
};
// Reads "values", "faults" and "links". Throws UsageError.
[[nodiscard]] Requirements parse_requirements(const std::vector<std::string>& names);

struct CheckResult {
  struct Finding {
    std::string element;  // empty: the report as a whole
    std::string attribute;
    std::string text;  // one line
  };
  std::size_t compared = 0;              // values
  std::size_t fault_counters = 0;        // that the GPUs report
  std::size_t parts_judged = 0;          // links and GPUs of a node, by their own hardware
  std::vector<Finding> violations;       // worse than the baseline, or a fault
  std::vector<Finding> not_judged;       // nothing is known although it is required, and why
  std::vector<std::string> notes;        // why the comparison may mislead
  std::vector<std::string> environment;  // differences between the setups of the two measurements: driver, host

  // Bad if a value is; otherwise not judged if anything is not.
  [[nodiscard]] Outcome outcome() const;
};
// A value violates the baseline if it is worse by more than the tolerance with disjoint intervals, or if the GPU lacks
// what the baseline has. A value that the report has no result for is not judged, and neither is any value if the
// baseline is from another kind of device.
// Faults that the GPU counts itself are violations, too.
[[nodiscard]] CheckResult check(const Topology& topology, const Topology& baseline, const Tolerances& tolerances,
                                const Requirements& requirements = {}, std::span<const Verdict> verdicts = {});
// Judges a report without a baseline by these faults and, for a node, by the verdicts on its parts. Without either, it
// is not judged.
[[nodiscard]] CheckResult check_alone(const Topology& topology, const Requirements& requirements = {},
                                      std::span<const Verdict> verdicts = {});
// Values that show in about a second whether a GPU is in order, as far as the baseline has them: the latency of each
// element, the bandwidths of shared and device memory and of the caches in front of it, and the size of L2. In the
// form of DiscoverOptions::elements: "l2.latency". Throws FormatError if the baseline has none of these.
[[nodiscard]] std::vector<std::string> quick_check_cells(const Topology& baseline);
[[nodiscard]] std::string check_to_text(const CheckResult& result, const Topology& topology);
[[nodiscard]] std::string check_to_json(const CheckResult& result, const Topology& topology);
// Prometheus text format, for node_exporter's textfile collector.
[[nodiscard]] std::string check_to_prometheus(const CheckResult& result, const Topology& topology);
// The same if a report could not be read: the collector sees that the gate fails, and people see why.
[[nodiscard]] std::string check_failure_to_prometheus(std::string_view problem);

// The table of elements and their attributes, as text for a person.
[[nodiscard]] std::string coverage_table();

// Writes each SampleTable as DIR/NAME.csv (RFC 4180) and creates DIR. Throws FileError; nothing is left then.
void write_samples(const Topology& topology, const std::string& directory);

}  // namespace gputopo
