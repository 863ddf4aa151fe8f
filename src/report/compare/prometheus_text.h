// Names and texts of Prometheus' exposition format.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace gputopo::report {

// Lower-case letters, digits and '_': what may stand behind "gputopo_".
[[nodiscard]] std::string prometheus_name(std::string_view text);

// The value of a label, for between quotes. Quotes, backslashes and line ends are escaped. The rest is made visible
// (visible_text), because the metrics may go to a terminal.
[[nodiscard]] std::string prometheus_label(std::string_view text);

// A text behind # HELP, on one line.
[[nodiscard]] std::string prometheus_help(std::string_view text);

// Names of metrics, one for each id and unit: two that would have the same name keep apart, for a collector refuses
// samples of one name and the same labels.
class PrometheusNames {
 public:
  // "latency" and "_cycles" is "latency_cycles". An id that is not its own prometheus_name(), one whose name is
  // another's already or one of the check's own ("check_...") has a number that stands for it behind it.
  [[nodiscard]] std::string name(const std::string& id, const std::string& unit, const std::string& suffix);

 private:
  std::map<std::string, std::pair<std::string, std::string>> owners_;  // id and unit, by name
};

}  // namespace gputopo::report
