// `gputopo fleet`: merges many reports into one store, finds outliers among them, and forgets old ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gputopo::cli {

enum class FleetCommand : std::uint8_t { kMerge, kReport, kForget, kDocument };

struct FleetOptions {
  FleetCommand command = FleetCommand::kReport;
  std::vector<std::string> folders;  // for merge
  std::string store_path;
  bool resume = false;
  bool is_anonymous = false;
  bool takes_simulated = false;
  std::int64_t keep_reports_days = 7;
  std::string html_path;  // for report
  std::string csv_path;
  std::string prometheus_path;
  std::string json_path;
  bool everything = false;
  bool allows_not_judged = false;  // ends with 0 if nothing is bad
  std::string before;              // for forget
  std::string gpu;                 // for document
};

// Returns the exit code. Throws gputopo::Error.
[[nodiscard]] int run_fleet(const FleetOptions& options);

}  // namespace gputopo::cli
