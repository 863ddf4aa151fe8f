// The command line as plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/fleet.h"
#include "gputopo/outcome.h"

namespace gputopo::cli {

enum class Command : std::uint8_t {
  kDiscover,
  kList,
  kShow,
  kCoverage,
  kDiff,
  kCheck,
  kGet,
  kModel,
  kNode,
  kFleet,
  kPrint
};

// Documented in --help.
enum ExitCode : int {
  kExitComplete = 0,
  kExitFailure = 1,
  kExitUsage = 2,
  kExitIncomplete = 3,
  kExitBusy = 4,
  kExitUnavailable = 5,
  kExitInterrupted = 130,
};

[[nodiscard]] ExitCode exit_code_of(Outcome outcome, bool allows_not_judged);

struct ExitCodeMeaning {
  ExitCode code;
  std::string text;
};
[[nodiscard]] const std::vector<ExitCodeMeaning>& exit_code_meanings();

struct Options {
  Command command = Command::kDiscover;
  std::string instance_path;              // show
  std::string report_path;                // show, check, get and model
  std::vector<std::string> report_paths;  // diff
  std::string baseline_path;              // check
  std::vector<std::string> tolerances;
  std::string check_format;
  std::vector<std::string> required;      // check: names for parse_requirements
  bool allows_not_judged = false;         // check, node: end with 0 if nothing is bad
  bool quick = false;                     // check: measures a GPU now instead of reading a report
  std::string value_path;                 // get: "l2.latency"
  bool fresh = false;                     // get: ignores the cache
  std::optional<double> max_age_seconds;  // get: for an answer from the cache
  std::string node;                       // node; empty: the GPUs of this host, or a simulated node
  std::string expected;                   // node: "8xH200", or the path of an earlier report of the node
  bool links_only = false;                // node: skips the reports of the GPUs
  bool gpus_only = false;                 // node: skips the links
  bool one_by_one = false;                // node: never two GPUs at the same time
  bool with_host_name = false;
  bool with_hwloc = false;
  bool diff_as_json = false;
  std::string kernel_path;  // model
  bool model_as_json = false;
  std::string model_svg_path;
  std::string diff_html_path;
  std::string text;    // kPrint: text that the command line has produced
  std::string device;  // discover; empty: the first GPU
  std::vector<std::string> elements;
  std::vector<std::string> attributes;
  std::vector<std::string> output_paths;  // by formats(); "-": standard output instead of the table; empty: none
  bool tree = false;                      // prints nested boxes instead of the table
  bool plot = false;                      // prints latency over footprint instead of the table
  bool published = false;                 // prints published values beside the measured ones, instead of the table
  bool everything = false;                // prints all values below the table, however small the terminal
  std::string raw_directory;
  std::string record_path;
  std::vector<std::string> methods;  // alternative methods
  bool full = false;
  double budget_seconds = 60;
  std::uint64_t carve_out_bytes = 0;  // shared memory; 0: the smallest carve-out
  double max_wait_seconds = 600;      // for another gputopo on the same GPU
  std::uint64_t seed = 1;
  bool quiet = false;
  bool verbose = false;
  bool dump_program = false;
  bool profile = false;
  bool keep_samples = true;  // keeps the evidence behind values
  FleetOptions fleet;
};

// Throws UsageError for an invalid command line.
[[nodiscard]] Options parse_command_line(int argc, char** argv);

}  // namespace gputopo::cli
