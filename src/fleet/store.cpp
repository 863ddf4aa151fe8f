#include "fleet/store.h"

#include <cmath>
#include <limits>

namespace gputopo::fleet {
namespace {

bool is_single(double value) {
  return std::isfinite(value) && std::abs(value) < static_cast<double>(std::numeric_limits<float>::max());
}

}  // namespace

float rounded_down(double bound) {
  if (!is_single(bound)) return std::nanf("");
  const auto near = static_cast<float>(bound);
  return static_cast<double>(near) > bound ? std::nextafter(near, -INFINITY) : near;
}

float rounded_up(double bound) { return -rounded_down(-bound); }

Word Words::add(std::string_view text) {
  const auto known = words_.find(text);
  if (known != words_.end()) return known->second;
  const Word word = static_cast<Word>(texts_.size());
  texts_.emplace_back(text);
  words_.emplace(texts_.back(), word);
  return word;
}

void Store::add(const Run& run) {
  StoredRun stored{.host = words_.add(run.host),
                   .gpu = words_.add(run.gpu),
                   .name = words_.add(run.name),
                   .document = words_.add(run.document),
                   .model = words_.add(run.model),
                   .driver = words_.add(run.driver),
                   .profile = words_.add(run.profile),
                   .timestamp = run.timestamp,
                   .simulated = run.simulated};
  stored.first = readings_.size();
  for (const Reading& reading : run.readings) {
    readings_.push_back({.value = std::isfinite(reading.value) ? reading.value : std::nan(""),
                         .low = rounded_down(reading.low),
                         .high = rounded_up(reading.high),
                         .path = words_.add(reading.path),
                         .unit = words_.add(reading.unit),
                         .source = words_.add(reading.source),
                         .reason = words_.add(reading.reason),
                         .text = words_.add(reading.text)});
  }
  stored.end = readings_.size();
  runs_.push_back(stored);
}

}  // namespace gputopo::fleet
