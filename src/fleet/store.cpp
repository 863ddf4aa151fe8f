#include "fleet/store.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "gputopo/error.h"

namespace gputopo::fleet {
namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

// Rounds a bound outward, so that the interval never becomes narrower.
float rounded_down(double value) {
  const auto near = static_cast<float>(value);
  return static_cast<double>(near) > value ? std::nextafter(near, -INFINITY) : near;
}
float rounded_up(double value) {
  const auto near = static_cast<float>(value);
  return static_cast<double>(near) < value ? std::nextafter(near, INFINITY) : near;
}

bool is_single(double value) {
  return std::isfinite(value) && std::abs(value) < static_cast<double>(std::numeric_limits<float>::max());
}

std::string content_of(const Run& run) {
  std::string content = fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n", run.host, run.gpu, run.model, run.driver,
                                    run.profile, run.timestamp.value_or(-1), run.simulated);
  for (const Reading& reading : run.readings) {
    content += fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n", reading.path, reading.value, reading.low, reading.high,
                           reading.unit, reading.source, reading.reason, reading.text);
  }
  return content;
}

}  // namespace

Word Words::add(std::string_view text) {
  const auto known = words_.find(text);
  if (known != words_.end()) return known->second;
  const Word word = static_cast<Word>(texts_.size());
  texts_.emplace_back(text);
  words_.emplace(texts_.back(), word);
  return word;
}

std::string Store::file_id(std::string_view content) { return anonymous_id(content); }

bool Store::add(const Run& run, const std::string& file) {
  const std::string report = anonymous_id(content_of(run));
  if (!reports_.insert(report).second) return false;
  files_.insert(file);
  StoredRun stored{.report = words_.add(report),
                   .file = words_.add(file),
                   .host = words_.add(run.host),
                   .gpu = words_.add(run.gpu),
                   .name = words_.add(run.name),
                   .model = words_.add(run.model),
                   .driver = words_.add(run.driver),
                   .profile = words_.add(run.profile),
                   .timestamp = run.timestamp,
                   .simulated = run.simulated};
  stored.first = readings_.size();
  for (const Reading& reading : run.readings) {
    readings_.push_back({.value = std::isfinite(reading.value) ? reading.value : std::nan(""),
                         .low = is_single(reading.low) ? rounded_down(reading.low) : kNone,
                         .high = is_single(reading.high) ? rounded_up(reading.high) : kNone,
                         .path = words_.add(reading.path),
                         .unit = words_.add(reading.unit),
                         .source = words_.add(reading.source),
                         .reason = words_.add(reading.reason),
                         .text = words_.add(reading.text)});
  }
  stored.end = readings_.size();
  runs_.push_back(stored);
  return true;
}

}  // namespace gputopo::fleet
