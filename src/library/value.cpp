// Values by path.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>

#include "file/sanitize.h"
#include "library/memory.h"
#include "library/report.h"
#include "report/export/value_path.h"
#include "report/words/csv_text.h"
#include "report/words/hierarchy.h"

namespace gputopo::library {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

constexpr const char* kSources[] = {"unavailable", "measured", "api", "inferred"};
constexpr const char* kReasons[] = {"none",         "not_applicable", "not_supported", "not_present",
                                    "inconclusive", "timed_out",      "interrupted",   "device_error",
                                    "dependency",   "not_selected",   "disturbed",     "not_in_report"};

gputopo_source source_of(const Attribute& attribute) {
  switch (attribute.source) {
    case Source::kMeasured:
      return GPUTOPO_SOURCE_MEASURED;
    case Source::kApi:
      return GPUTOPO_SOURCE_API;
    case Source::kInferred:
      return GPUTOPO_SOURCE_INFERRED;
    case Source::kUnavailable:
      break;
  }
  return GPUTOPO_SOURCE_UNAVAILABLE;
}

// By name, so that additions to one enumeration do not shift the other.
gputopo_reason reason_of(const Attribute& attribute) {
  if (attribute.available()) return GPUTOPO_REASON_NONE;
  const auto found =
      std::ranges::find(kReasons, to_string(attribute.reason), [](const char* name) { return std::string_view(name); });
  return found == std::end(kReasons) ? GPUTOPO_REASON_INCONCLUSIVE
                                     : static_cast<gputopo_reason>(found - std::begin(kReasons));
}

// The size of the first version, the least that any caller has.
constexpr std::size_t kFirstValueBytes = offsetof(gputopo_value, group_count) + sizeof(std::size_t);

// The bytes that the caller's version and this one have in common.
std::size_t bytes_in(const gputopo_value& value) { return std::min<std::size_t>(value.size, sizeof value); }

// A value under construction. Its memory is freed if a later part fails.
class Filling {
 public:
  Filling() { value_.number = value_.low = value_.high = kNone; }
  Filling(const Filling&) = delete;
  Filling& operator=(const Filling&) = delete;
  ~Filling() { gputopo_value_free(&value_); }

  void fill(const Attribute& attribute) {
    value_.source = source_of(attribute);
    value_.reason = reason_of(attribute);
    set_text(value_.text, attribute.available() ? report::plain_value(attribute.value) : "");
    set_text(value_.unit, attribute.unit);
    set_text(value_.detail, attribute.available() ? "" : attribute.detail);
    set_text(value_.method, attribute.method);
    if (attribute.low) value_.low = *attribute.low;
    if (attribute.high) value_.high = *attribute.high;
    if (attribute.available()) std::visit([this](const auto& held) { take(held); }, attribute.value);
  }
  void fill_missing(const std::string& detail) {
    fill(Attribute{});
    value_.reason = GPUTOPO_REASON_NOT_IN_REPORT;
    set_text(value_.detail, detail);
  }
  // Moves to the caller's struct, which may be of a later version and longer.
  void move_to(gputopo_value& value) {
    value_.size = value.size;
    gputopo_value_free(&value);
    std::memcpy(&value, &value_, bytes_in(value));
    value_ = GPUTOPO_VALUE_INIT;
  }

 private:
  static void set_text(char*& place, std::string_view text) {
    Owned<char> copy = copy_of_text(text);
    std::free(place);
    place = copy.release();
  }
  void take(std::monostate) {}
  void take(bool held) {
    value_.type = GPUTOPO_TYPE_BOOLEAN;
    value_.number = held ? 1 : 0;
  }
  template <typename Number>
  requires std::is_arithmetic_v<Number>
  void take(Number held) {
    value_.type = GPUTOPO_TYPE_NUMBER;
    value_.number = static_cast<double>(held);
  }
  void take(const std::string&) { value_.type = GPUTOPO_TYPE_TEXT; }
  void take(const std::vector<double>& held) {
    value_.type = GPUTOPO_TYPE_NUMBERS;
    value_.numbers = allocate<double>(held.size()).release();
    value_.count = held.size();
    std::ranges::copy(held, value_.numbers);
  }
  void take(const std::vector<std::string>& held) {
    value_.type = GPUTOPO_TYPE_TEXTS;
    value_.texts = allocate<char*>(held.size()).release();
    for (const std::string& text : held) value_.texts[value_.count++] = copy_of_text(text).release();
  }
  void take(const UnitGroups& held) {
    value_.type = GPUTOPO_TYPE_GROUPS;
    std::size_t members = 0;
    for (const auto& group : held.groups) members += group.size();
    value_.numbers = allocate<double>(members).release();
    value_.group_ends = allocate<std::size_t>(held.groups.size()).release();
    for (const auto& group : held.groups) {
      for (const std::uint32_t member : group) value_.numbers[value_.count++] = member;
      value_.group_ends[value_.group_count++] = value_.count;
    }
  }

  gputopo_value value_ = GPUTOPO_VALUE_INIT;
};

std::string why_missing(const Topology& topology, std::string_view path) {
  return fmt::format("the report of {} has no value for {}", topology.name, path);
}

// Fails for an unavailable value. No attribute: the report does not contain it.
int fail_without(const Topology& topology, std::string_view path, const std::optional<Attribute>& attribute) {
  return fail(GPUTOPO_UNAVAILABLE,
              sanitized_line(attribute ? fmt::format("{} is unavailable: {}", path, report::why_absent(*attribute))
                                       : why_missing(topology, path)));
}

}  // namespace
}  // namespace gputopo::library

using namespace gputopo;
using namespace gputopo::library;

extern "C" {

int gputopo_get(const gputopo_report* report, const char* path, gputopo_value* value) {
  return with_report("gputopo_get", report, [&](const Topology& topology) -> int {
    if (path == nullptr) return fail_with_null("gputopo_get", "path");
    if (value == nullptr) return fail_with_null("gputopo_get", "value");
    if (value->size < kFirstValueBytes) {
      return fail(GPUTOPO_ERROR_ARGUMENT, "gputopo_get: value->size is wrong: initialize it with GPUTOPO_VALUE_INIT");
    }
    report::require_known_path(path, &topology);
    const std::optional<Attribute> attribute = report::value_at(topology, path);
    Filling filling;
    attribute ? filling.fill(*attribute) : filling.fill_missing(why_missing(topology, path));
    filling.move_to(*value);
    if (attribute && attribute->available()) return GPUTOPO_OK;
    return fail_without(topology, path, attribute);
  });
}

void gputopo_value_free(gputopo_value* value) {
  if (value == nullptr || value->size < kFirstValueBytes) return;
  for (std::size_t i = 0; value->texts != nullptr && i < value->count; ++i) std::free(value->texts[i]);
  for (void* memory :
       {static_cast<void*>(value->text), static_cast<void*>(value->unit), static_cast<void*>(value->detail),
        static_cast<void*>(value->method), static_cast<void*>(value->numbers), static_cast<void*>(value->texts),
        static_cast<void*>(value->group_ends)}) {
    std::free(memory);
  }
  gputopo_value empty = GPUTOPO_VALUE_INIT;
  empty.size = value->size;
  std::memcpy(value, &empty, bytes_in(*value));
}

int gputopo_number(const gputopo_report* report, const char* path, double* number, double* low, double* high) {
  return with_report("gputopo_number", report, [&](const Topology& topology) -> int {
    if (path == nullptr) return fail_with_null("gputopo_number", "path");
    if (number == nullptr) return fail_with_null("gputopo_number", "number");
    report::require_known_path(path, &topology);
    const std::optional<Attribute> attribute = report::value_at(topology, path);
    if (!attribute || !attribute->available()) return fail_without(topology, path, attribute);
    std::optional<double> held = attribute->number();
    if (const auto* is_so = std::get_if<bool>(&attribute->value)) held = *is_so ? 1 : 0;
    if (!held) {
      return fail(GPUTOPO_ERROR_TYPE, fmt::format("{} is not a number; use gputopo_get() for its value", path));
    }
    *number = *held;
    if (low != nullptr) *low = attribute->low.value_or(kNone);
    if (high != nullptr) *high = attribute->high.value_or(kNone);
    return GPUTOPO_OK;
  });
}

const char* gputopo_source_name(int32_t source) {
  return source >= 0 && source < std::ssize(kSources) ? kSources[source] : "unknown";
}

const char* gputopo_reason_name(int32_t reason) {
  return reason >= 0 && reason < std::ssize(kReasons) ? kReasons[reason] : "unknown";
}
}
