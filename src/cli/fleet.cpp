#include "cli/fleet.h"

#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "cli/options.h"
#include "cli/standard_streams.h"
#include "cli/terminal_style.h"
#include "cli/watchdog.h"
#include "file/output.h"
#include "fleet/findings.h"
#include "fleet/findings_html.h"
#include "fleet/findings_json.h"
#include "fleet/merge.h"
#include "fleet/store_file.h"
#include "fleet/store_reader.h"
#include "gputopo/error.h"
#include "gputopo/file.h"

namespace gputopo::cli {
namespace {

// Another merge holds the store for a thousand reports at most, unless it makes the store anew.
constexpr double kPatienceForStoreSeconds = 600;
constexpr std::int64_t kSecondsPerDay = 86400;

fleet::sqlite::Waiting waiting() {
  return {.patience = std::chrono::duration<double>(limited_timeout(kPatienceForStoreSeconds)),
          .say = [](const std::string& line) { say("gputopo: " + line); }};
}

std::int64_t seconds_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

int run_merge(const FleetOptions& options) {
  check_writable(options.store_path);
  const auto leave_out = [](const std::string& problem) { say(fmt::format("gputopo: skipped: {}", problem)); };
  const fleet::Sources sources = fleet::find_sources(options.folders, leave_out);
  fleet::StoreFile store(options.store_path, fleet::sqlite::Access::kCreate, waiting());
  if (!options.resume) store.clear();
  const fleet::MergeSummary summary = fleet::merge(sources,
                                                   {.is_anonymous = options.is_anonymous,
                                                    .takes_simulated = options.takes_simulated,
                                                    .in_steps = options.resume,
                                                    .now = seconds_now(),
                                                    .keep_reports_seconds = options.keep_reports_days * kSecondsPerDay},
                                                   store, leave_out);
  const std::int64_t runs = store.run_count();
  if (runs == 0) {
    throw FormatError("no reports found; give files saved by 'gputopo --json FILE', or folders with such *.json files");
  }
  store.commit();
  print_result(fmt::format("{} files, {} new runs, {} already known, {} problems; the store has {} runs in {} bytes\n",
                           summary.files, summary.added, summary.known + summary.repeated, summary.problems, runs,
                           store.bytes()));
  return summary.problems == 0 ? kExitComplete : kExitIncomplete;
}

int run_forget(const FleetOptions& options) {
  const std::string time =
      options.before.find('T') == std::string::npos ? options.before + "T00:00:00Z" : options.before;
  const std::optional<std::int64_t> before = fleet::parse_timestamp(time);
  if (!before) {
    throw UsageError(fmt::format("--before {}: not a date; give one like 2026-11-25, in UTC", options.before));
  }
  fleet::StoreFile store(options.store_path, fleet::sqlite::Access::kWrite, waiting());
  const fleet::Forgotten forgotten = store.forget(*before);
  print_result(fmt::format(
      "removed {} runs and {} reports from before {}, kept {} runs; {} bytes of the file are free "
      "for later merges (to shrink it: sqlite3 {} VACUUM)\n",
      forgotten.runs, forgotten.documents, time, store.run_count(), forgotten.free_bytes, options.store_path));
  return kExitComplete;
}

int run_document(const FleetOptions& options) {
  print_result(fleet::read_newest_report(options.store_path, options.gpu, waiting()));
  return kExitComplete;
}

// A destination path and its format.
using Output = std::pair<std::string, std::function<std::string(const fleet::Judgement&)>>;

std::vector<Output> outputs_of(const FleetOptions& options) {
  std::vector<Output> outputs = {{options.html_path, fleet::findings_to_html},
                                 {options.csv_path, fleet::findings_to_csv},
                                 {options.prometheus_path, fleet::findings_to_prometheus},
                                 {options.json_path, fleet::findings_to_json}};
  std::erase_if(outputs, [](const Output& output) { return output.first.empty(); });
  return outputs;
}

void check_outputs(const FleetOptions& options, const std::vector<Output>& outputs) {
  std::vector<std::string> files;
  bool is_stdout_taken = false;
  for (const auto& [path, render] : outputs) {
    if (path == "-") {
      if (std::exchange(is_stdout_taken, true)) {
        throw UsageError("only one format can go to standard output: write the others to files");
      }
      continue;
    }
    if (is_same_file(path, options.store_path)) {
      throw UsageError(fmt::format("'{}' is the store, which would be overwritten: choose another file", path));
    }
    check_writable(path);
    files.push_back(path);
  }
  if (const auto twice = one_file_twice(files)) {
    throw UsageError(
        fmt::format("'{}' is the target of two outputs, so one would be lost: choose another file", twice->second));
  }
}

void put(const std::string& path, const std::string& text) {
  path == "-" ? print_result(text) : write_file(path, text);
}

int run_report(const FleetOptions& options) {
  const std::vector<Output> outputs = outputs_of(options);
  check_outputs(options, outputs);
  fleet::Judgement judgement;
  try {
    const std::int64_t now = seconds_now();
    judgement = fleet::judge(fleet::read_store(options.store_path, now, waiting()), now);
  } catch (const Error& error) {
    // Without the metric, a collector's file would look as if nobody had run the check.
    if (!options.prometheus_path.empty()) put(options.prometheus_path, fleet::failure_to_prometheus(error.what()));
    throw;
  }
  bool prints_table = true;
  for (const auto& [path, render] : outputs) {
    put(path, render(judgement));
    prints_table = prints_table && path != "-";
  }
  if (prints_table) {
    print_result(fleet::findings_to_text(judgement, standard_output_style(), options.everything));
  }
  return exit_code_of(judgement.outcome(), options.allows_not_judged);
}

}  // namespace

int run_fleet(const FleetOptions& options) {
  switch (options.command) {
    case FleetCommand::kMerge:
      return run_merge(options);
    case FleetCommand::kForget:
      return run_forget(options);
    case FleetCommand::kDocument:
      return run_document(options);
    case FleetCommand::kReport:
      break;
  }
  return run_report(options);
}

}  // namespace gputopo::cli
