// Names and texts in Prometheus' exposition format.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace gputopo::report {

// Returns only lower-case letters, digits and '_', to follow "gputopo_".
[[nodiscard]] std::string prometheus_name(std::string_view text);

// Escapes quotes, backslashes and line ends of a label value and makes the rest visible: metrics may go to a terminal.
[[nodiscard]] std::string prometheus_label(std::string_view text);

// Returns a text for # HELP, on one line.
[[nodiscard]] std::string prometheus_help(std::string_view text);

// Unique metric names, one for each id and unit. Collectors reject two samples with the same name and labels.
class PrometheusNames {
 public:
  // "latency" with "_cycles" becomes "latency_cycles". The name gets a number if the id is not a valid name itself, if
  // another id owns the name, or if the name is one of the check's own ("check_...").
  [[nodiscard]] std::string name(const std::string& id, const std::string& unit, const std::string& suffix);

 private:
  std::map<std::string, std::pair<std::string, std::string>> owners_;  // id and unit, by name
};

}  // namespace gputopo::report
