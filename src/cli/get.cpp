#include "cli/get.h"

#include <fmt/format.h>

#include <atomic>
#include <optional>

#include "cache/report_cache.h"
#include "cli/standard_streams.h"
#include "cli/watchdog.h"
#include "file/sanitize.h"
#include "gputopo/error.h"
#include "report/export/value_path.h"
#include "report/words/csv_text.h"
#include "report/words/hierarchy.h"

namespace gputopo::cli {
namespace {

// Whether another measurement would give the same.
bool is_lasting(const Attribute& attribute) {
  return attribute.available() || attribute.reason == Reason::kNotApplicable ||
         attribute.reason == Reason::kNotSupported || attribute.reason == Reason::kNotPresent;
}

int print_value(const Topology& topology, const std::string& path) {
  const std::optional<Attribute> attribute = report::value_at(topology, path);
  if (!attribute) {
    report::require_known_path(path, &topology);  // only the report knows the names of its details
    say(fmt::format("gputopo: {} has no value for {}", topology.name, path));
    return kExitUnavailable;
  }
  if (!attribute->available()) {
    say(fmt::format("gputopo: {} is unavailable: {}", path, report::why_absent(*attribute)));
    return kExitUnavailable;
  }
  if (topology.simulated) say(fmt::format("gputopo: {} is a value of a SIMULATED {}", path, topology.name));
  print_result(sanitized_line(report::plain_value(attribute->value)) + "\n");
  return kExitComplete;
}

// If the system's files do not identify the GPU, the drivers are queried, and they may hang.
ReportCache cache_of(const Options& options) {
  const std::atomic<bool> interrupted = false;  // a signal ends this at once
  const Watchdog watchdog(
      0, interrupted, [](const std::string& blocked) { say(fmt::format("gputopo: error: {}", blocked)); },
      kPatienceToListSeconds);
  return {options.device, options.seed, report::attribute_path(options.value_path)};
}

}  // namespace

int get_of_report(const Topology& topology, const std::string& path) {
  report::require_known_path(path, &topology);
  return print_value(topology, path);
}

int get_of_device(const Options& options, const Discover& discover) {
  const std::string& path = options.value_path;
  report::require_known_path(path, nullptr);
  const ReportCache cache = cache_of(options);
  if (!options.fresh) {
    if (const std::optional<Topology> known = cache.load(options.max_age_seconds)) return print_value(*known, path);
  }
  Options request = options;
  request.elements = {report::element_to_measure(path)};
  request.quiet = true;
  request.keep_samples = false;  // not needed, and an answer should be quick
  std::optional<Topology> measured;
  const int code = discover(request, [&](const Topology& report) { measured = report; });
  if (!measured) return code;
  const std::optional<Attribute> attribute = report::value_at(*measured, path);
  if (attribute && is_lasting(*attribute)) {
    cache.store(*measured, [](const std::string& problem) { say(fmt::format("gputopo: warning: {}", problem)); });
  }
  const int own_code = print_value(*measured, path);
  // An interrupted discovery returns its own code, unless it had the value already.
  return code == kExitInterrupted && own_code != kExitComplete ? code : own_code;
}

}  // namespace gputopo::cli
