// What a fleet keeps of a report: a run of one GPU, and a reading of each of its values. Reads what `gputopo --json`
// and `gputopo node --json` write.
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
  std::string text;    // of a value that is no number
};

struct Run {
  std::string host;  // an anonymous id
  std::string gpu;   // an anonymous id, stable over runs
  std::string name;  // what people call it: only where that was asked for
  std::string model;
  std::string driver;
  std::string profile;                    // of an instance of a GPU
  std::optional<std::int64_t> timestamp;  // seconds since 1970, UTC
  bool simulated = false;
  std::vector<Reading> readings;
};

// Stable, and says nothing of what it is made of: 16 digits.
[[nodiscard]] std::string anonymous_id(std::string_view text);

// Of ISO 8601 in UTC, as reports have it; nothing of anything else.
[[nodiscard]] std::optional<std::int64_t> parse_timestamp(std::string_view text);
// The other way: "2026-11-25T16:10:06Z".
[[nodiscard]] std::string timestamp_text(std::int64_t seconds);

// The values of a report, for tests and for what reads documents.
[[nodiscard]] Run run_of(const Topology& topology);

}  // namespace gputopo::fleet
