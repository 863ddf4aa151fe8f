// A run of one GPU and a reading of each value, from the output of `gputopo --json` and `gputopo node --json`.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gputopo/model.h"

namespace gputopo::fleet {

struct Reading {
  std::string path;  // "l2.latency", "link.gpu0-gpu1.copy_bandwidth"
  double value = std::nan("");
  double low = std::nan("");  // 95% interval
  double high = std::nan("");
  std::string unit;
  std::string source;  // as in the report
  std::string reason;  // why there is no value
  std::string text;    // a value that is not a number
};

// The model of a run that stands for a host whose report lists no GPU.
inline constexpr std::string_view kNoGpu = "no GPU";

struct Run {
  std::string host;      // an anonymous id
  std::string gpu;       // an anonymous id, stable over runs
  std::string name;      // readable name; only if names are kept
  std::string document;  // path of the file that it was read from; only if names are kept
  std::string model;
  std::string driver;
  std::string profile;                    // profile of a MIG instance
  std::optional<std::int64_t> timestamp;  // seconds since 1970, UTC
  bool simulated = false;
  std::vector<Reading> readings;
};

// Returns a stable id of 16 digits that does not reveal `text`.
[[nodiscard]] std::string anonymous_id(std::string_view text);

// Parses ISO 8601 in UTC, the format of reports. Returns nothing for any other text.
[[nodiscard]] std::optional<std::int64_t> parse_timestamp(std::string_view text);
// The inverse: "2026-11-25T16:10:06Z".
[[nodiscard]] std::string timestamp_text(std::int64_t seconds);

// Extracts a report's values; also used by document readers and tests.
[[nodiscard]] Run run_of(const Topology& topology);

}  // namespace gputopo::fleet
