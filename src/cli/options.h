// The command line as plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/fleet.h"

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

struct ExitCodeMeaning {
  ExitCode code;
  std::string text;
};
[[nodiscard]] const std::vector<ExitCodeMeaning>& exit_code_meanings();

struct Options {
  Command command = Command::kDiscover;
  std::string instance_path;              // of show
  std::string report_path;                // of show, check, get and model
  std::vector<std::string> report_paths;  // of diff
  std::string baseline_path;              // of check
  std::vector<std::string> tolerances;
  std::string check_format;
  bool quick = false;                     // check: a GPU that is measured now, not a report
  std::string value_path;                 // of get: "l2.latency"
  bool fresh = false;                     // get: no answer from the cache
  std::optional<double> max_age_seconds;  // get: of an answer from the cache
  std::string node;                       // of node; empty: the GPUs that are here, or a simulated node
  bool links_only = false;                // node: no reports of its GPUs
  bool gpus_only = false;                 // node: nothing of its links
  bool one_by_one = false;                // node: no two GPUs at the same time
  bool with_host_name = false;
  bool with_hwloc = false;
  bool diff_as_json = false;
  std::string kernel_path;  // of model
  bool model_as_json = false;
  std::string model_svg_path;
  std::string diff_html_path;
  std::string text;    // of kPrint: what the command line itself has made
  std::string device;  // of discover; empty: the first GPU, or a simulated one
  std::vector<std::string> elements;
  std::vector<std::string> attributes;
  std::vector<std::string> output_paths;  // by formats(); "-": standard output instead of the table; empty: none
  bool tree = false;                      // nested boxes instead of the table
  bool plot = false;                      // latency over footprint instead of the table
  bool published = false;                 // what was published beside the values, instead of the table
  bool everything = false;                // below the table, however small the terminal
  std::string raw_directory;
  std::string record_path;
  std::vector<std::string> methods;  // beside the project's own
  bool full = false;
  double budget_seconds = 60;
  std::uint64_t carve_out_bytes = 0;  // of shared memory; 0: the smallest
  double max_wait_seconds = 600;      // for another gputopo on the same GPU
  std::uint64_t seed = 1;
  bool quiet = false;
  bool verbose = false;
  bool dump_program = false;
  bool profile = false;
  bool keep_samples = true;  // the evidence behind the values
  FleetOptions fleet;
};

// Throws UsageError for a command line that is wrong.
[[nodiscard]] Options parse_command_line(int argc, char** argv);

}  // namespace gputopo::cli
