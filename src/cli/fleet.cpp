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
#include "file/file_update.h"
#include "file/limits.h"
#include "file/output.h"
#include "fleet/findings.h"
#include "fleet/findings_html.h"
#include "fleet/findings_json.h"
#include "fleet/merge.h"
#include "fleet/store_file.h"
#include "gputopo/error.h"
#include "gputopo/file.h"

namespace gputopo::cli {
namespace {

// A merge holds the store for as long as it reads the reports; thousands of reports take minutes.
constexpr double kPatienceForStoreSeconds = 600;

fleet::Store parse_store(const std::string& path, std::string_view bytes) {
  try {
    return fleet::read_store(bytes);
  } catch (const FormatError& error) {
    throw FormatError(fmt::format("'{}': {}", path, error.what()));
  }
}

int run_merge(const FleetOptions& options) {
  const bool is_to_stdout = options.store_path == "-";
  if (is_to_stdout && options.resume)
    throw UsageError("--resume cannot add to standard output (--out -); give a file to --out");
  if (!is_to_stdout) check_writable(options.store_path);
  std::optional<FileUpdate> update;
  if (!is_to_stdout) {
    update.emplace(options.store_path, std::chrono::duration<double>(limited_timeout(kPatienceForStoreSeconds)),
                   [](const std::string& line) { say("gputopo: " + line); });
  }
  fleet::Store store;
  if (options.resume) {
    const std::optional<std::string> known = update->read(limits::kMaxStoreBytes);
    if (known) store = parse_store(options.store_path, *known);
  }
  const fleet::MergeSummary summary =
      fleet::merge(options.folders, {.keep_names = options.keep_names, .takes_simulated = options.takes_simulated},
                   store, [](const std::string& problem) { say(fmt::format("gputopo: left out: {}", problem)); });
  if (store.runs().empty()) {
    throw FormatError("no reports found; give files saved by 'gputopo --json FILE', or folders with such *.json files");
  }
  const std::string bytes = fleet::write_store(store);
  const std::string said = fmt::format(
      "{} files, {} new runs, {} already known, {} problems; the store has {} runs in {} bytes", summary.files,
      summary.added, summary.known + summary.repeated, summary.problems, store.runs().size(), bytes.size());
  if (is_to_stdout) {
    print_result(bytes);
    say("gputopo: " + said);
  } else {
    update->write(bytes);
    print_result(said + "\n");
  }
  return summary.problems == 0 ? kExitComplete : kExitIncomplete;
}

std::int64_t seconds_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
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
    judgement = fleet::judge(parse_store(options.store_path, read_file(options.store_path, limits::kMaxStoreBytes)),
                             seconds_now());
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
  return options.command == FleetCommand::kMerge ? run_merge(options) : run_report(options);
}

}  // namespace gputopo::cli
