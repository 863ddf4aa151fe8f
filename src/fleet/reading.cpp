#include "fleet/reading.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <chrono>

#include "file/digest.h"
#include "file/limits.h"
#include "gputopo/catalogue.h"
#include "report/words/value_text.h"

namespace gputopo::fleet {
namespace {

// Number lists and SM maps differ from chip to chip and are long, so they are left out.
std::optional<std::string> text_of(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "yes" : "no";
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    return fmt::format("{}", fmt::join(*texts, ", "));
  }
  return std::nullopt;
}

// Skips values that cannot exist, that nobody requested, or that fit no column.
std::optional<Reading> reading_of(std::string path, const Attribute& attribute) {
  Reading reading{.path = std::move(path), .unit = attribute.unit, .source = std::string(to_string(attribute.source))};
  if (!attribute.available()) {
    if (attribute.reason == Reason::kNotApplicable || attribute.reason == Reason::kNotSelected) return std::nullopt;
    reading.reason = to_string(attribute.reason);
    return reading;
  }
  if (const std::optional<double> number = attribute.number()) {
    reading.value = *number;
    if (attribute.low) reading.low = *attribute.low;
    if (attribute.high) reading.high = *attribute.high;
    return reading;
  }
  const std::optional<std::string> text = text_of(attribute.value);
  if (!text || text->size() > limits::kMaxStoreText) return std::nullopt;
  reading.text = *text;
  return reading;
}

std::string text_at(const AttributeMap& map, AttributeId id) {
  const Attribute* attribute = find(map, id);
  if (attribute == nullptr || !attribute->available()) return "";
  return text_of(attribute->value).value_or("");
}

}  // namespace

std::string anonymous_id(std::string_view text) {
  std::string id = digest(std::string(text));
  std::erase(id, '-');
  constexpr std::size_t kDigits = 16;
  return id.substr(0, kDigits);
}

std::optional<std::int64_t> parse_timestamp(std::string_view text) {
  // 2026-11-25T16:10:06Z
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:ddZ";
  if (text.size() != kForm.size()) return std::nullopt;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const bool fits = kForm[i] == 'd' ? text[i] >= '0' && text[i] <= '9' : text[i] == kForm[i];
    if (!fits) return std::nullopt;
  }
  const auto number = [&](std::size_t at, std::size_t digits) {
    int value = 0;
    std::from_chars(text.data() + at, text.data() + at + digits, value);
    return value;
  };
  using namespace std::chrono;
  const year_month_day day{year(number(0, 4)), month(static_cast<unsigned>(number(5, 2))),
                           std::chrono::day(static_cast<unsigned>(number(8, 2)))};
  const int hour = number(11, 2);
  const int minute = number(14, 2);
  const int second = number(17, 2);
  if (!day.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  return sys_days(day).time_since_epoch().count() * std::int64_t{86400} + hour * 3600 + minute * 60 + second;
}

std::string timestamp_text(std::int64_t seconds) {
  using namespace std::chrono;
  // A store may hold any number. Years beyond four digits are printed as seconds.
  constexpr std::int64_t kEnd = 253402300800;
  if (seconds < 0 || seconds >= kEnd) return fmt::format("{} s", seconds);
  const sys_seconds time{std::chrono::seconds(seconds)};
  const sys_days date = floor<days>(time);
  const year_month_day day{date};
  const hh_mm_ss clock{time - date};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(day.year()),
                     static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count());
}

Run run_of(const Topology& topology) {
  Run run;
  run.model = topology.name;
  run.driver = text_at(topology.device, AttributeId::kDriverVersion);
  run.profile = text_at(topology.device, AttributeId::kInstanceProfile);
  run.timestamp = parse_timestamp(topology.timestamp);
  run.simulated = topology.simulated;
  for (const report::ValueGroup& group : report::value_groups(topology)) {
    for (const auto& [name, attribute] : *group.attributes) {
      auto reading = reading_of(fmt::format("{}.{}", group.path, name), attribute);
      if (reading) run.readings.push_back(std::move(*reading));
    }
  }
  run.readings.push_back({.path = "report.complete", .source = "measured", .text = topology.complete ? "yes" : "no"});
  return run;
}

}  // namespace gputopo::fleet
