#include "cli/fleet_commands.h"

#include <CLI/CLI.hpp>

#include "cli/fleet.h"

namespace gputopo::cli {

void add_fleet_commands(CLI::App& fleet, FleetOptions& options) {
  fleet.require_subcommand(1);
  CLI::App* merge = fleet.add_subcommand("merge",
                                         "Merge the reports in folders into one store, for 'fleet report' and "
                                         "data frames");
  merge->add_option("DIR", options.folders, "Saved JSON reports, or folders that contain them")
      ->required()
      ->type_name("DIR");
  merge->add_option("--out", options.store_path, "Store to write, an SQLite database")->required()->type_name("FILE");
  merge->add_flag("--resume", options.resume, "Keep the runs in the store and add new ones");
  CLI::Option* anonymous =
      merge->add_flag("--anonymous", options.is_anonymous, "Store no host names, file paths or full reports");
  merge
      ->add_flag_callback(
          "--names", [] {}, "Store names; this is the default, and the option remains for older scripts")
      ->excludes(anonymous);
  merge->add_option("--keep-reports", options.keep_reports_days, "Days for which the store keeps full reports")
      ->capture_default_str()
      ->check(CLI::Range(0, 36500).description(""))
      ->type_name("DAYS");
  merge->add_flag("--simulated", options.takes_simulated, "Accept simulated GPUs in a store of real ones");
  merge->callback([&options] { options.command = FleetCommand::kMerge; });
  CLI::App* report = fleet.add_subcommand(
      "report", "Find outliers in a store; the exit code is 1 if there are any, 3 if GPUs could not be judged");
  report->add_option("STORE", options.store_path, "Store written by 'fleet merge'")->required()->type_name("");
  report->add_option("--html", options.html_path, "Write a page with a map of GPUs and values")->type_name("FILE");
  report->add_option("--csv", options.csv_path, "Write a CSV file with a row for each deviating value")
      ->type_name("FILE");
  report->add_option("--prometheus", options.prometheus_path, "Write metrics for node_exporter's textfile collector")
      ->type_name("FILE");
  report->add_option("--json", options.json_path, "Write the findings as JSON")->type_name("FILE");
  report->add_flag("--long", options.everything, "Print every deviating value");
  report->add_flag("--allow-not-judged", options.allows_not_judged,
                   "Exit with 0 instead of 3 if there are no outliers but some GPUs could not be judged");
  report->callback([&options] { options.command = FleetCommand::kReport; });
  CLI::App* forget = fleet.add_subcommand("forget", "Remove all runs and reports from before a date");
  forget->add_option("STORE", options.store_path, "Store written by 'fleet merge'")->required()->type_name("");
  forget->add_option("--before", options.before, "First day to keep, in UTC, such as 2026-11-25")
      ->required()
      ->type_name("DATE");
  forget->callback([&options] { options.command = FleetCommand::kForget; });
  CLI::App* document = fleet.add_subcommand("document", "Print the newest full report that the store has of a GPU");
  document->add_option("STORE", options.store_path, "Store written by 'fleet merge'")->required()->type_name("");
  document->add_option("GPU", options.gpu, "The GPU's id or name, as 'fleet report' shows it")
      ->required()
      ->type_name("");
  document->callback([&options] { options.command = FleetCommand::kDocument; });
}

}  // namespace gputopo::cli
