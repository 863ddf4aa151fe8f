#include "cli/fleet_commands.h"

#include <CLI/CLI.hpp>

#include "cli/fleet.h"

namespace gputopo::cli {

void add_fleet_commands(CLI::App& fleet, FleetOptions& options) {
  fleet.require_subcommand(1);
  CLI::App* merge = fleet.add_subcommand("merge",
                                         "Make one store of the reports in folders, for 'fleet report' and "
                                         "for data frames");
  merge->add_option("DIR", options.folders, "Folders with what --json wrote, or such files")
      ->required()
      ->type_name("DIR");
  merge->add_option("--out", options.store_path, "The store: an Arrow file")->required()->type_name("FILE");
  merge->add_flag("--resume", options.resume, "Keep what the store has, and add what is new");
  merge->add_flag("--names", options.keep_names, "Keep the names of hosts, or of files where these name none");
  merge->callback([&options] { options.command = FleetCommand::kMerge; });
  CLI::App* report =
      fleet.add_subcommand("report", "Find what is odd in a store: the exit code is 1 where anything is");
  report->add_option("STORE", options.store_path, "What 'fleet merge' wrote")->required()->type_name("");
  report->add_option("--html", options.html_path, "Write a page with a map of GPUs and values")->type_name("FILE");
  report->add_option("--csv", options.csv_path, "Write a row for each odd value")->type_name("FILE");
  report->add_option("--prometheus", options.prometheus_path, "Write metrics for a text-file collector")
      ->type_name("FILE");
  report->add_option("--json", options.json_path, "Write what is odd as JSON")->type_name("FILE");
  report->add_flag("--long", options.everything, "Print every value that is off");
  report->callback([&options] { options.command = FleetCommand::kReport; });
}

}  // namespace gputopo::cli
