#include "kernel_model/figures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "file/sanitize.h"
#include "gputopo/error.h"
#include "report/export/value_path.h"
#include "report/words/hierarchy.h"
#include "report/words/values.h"

namespace gputopo::kernel_model {
namespace {

void add_once(std::vector<std::string>& list, const std::string& entry) {
  if (std::ranges::find(list, entry) == list.end()) list.push_back(entry);
}

std::optional<double> positive(const std::optional<double>& number) {
  return number && std::isfinite(*number) && *number > 0 ? number : std::nullopt;
}

// True if repeated measurement cannot change the reason.
bool is_final(const Attribute& attribute) {
  return attribute.reason == Reason::kNotPresent || attribute.reason == Reason::kNotApplicable ||
         attribute.reason == Reason::kNotSupported;
}

// False if no GPU of this vendor has this value, measured or told.
bool can_be_known(const Topology& topology, std::string_view path) {
  const std::size_t point = path.find('.');
  const ElementInfo* element = find_element(path.substr(0, point));
  const AttributeInfo* attribute = point == std::string_view::npos ? nullptr : find_attribute(path.substr(point + 1));
  if (element == nullptr || attribute == nullptr || attribute->group == AttributeGroup::kDevice) return true;
  const Vendor vendor = vendor_of(topology.vendor);
  return has_element(vendor, element->id) &&
         coverage_of(vendor, element->id, attribute->id) != Coverage::kNotApplicable;
}

}  // namespace

void Figures::lack(const std::string& path, const std::string& why) {
  add_once(lacking_, fmt::format("{} ({})", path, sanitized_line(why)));
}

std::optional<double> Figures::known(const std::string& path) {
  const std::optional<Attribute> attribute = report::value_at(topology_, path);
  if (!attribute || !attribute->available()) return std::nullopt;
  const auto number = positive(attribute->number());
  if (number && !attribute->flags.empty()) {
    add_once(doubts_, sanitized_line(fmt::format("{}: {}", path, fmt::join(attribute->flags, ", "))));
  }
  return number;
}

double Figures::need(const std::string& path) {
  if (const auto number = known(path)) return *number;
  const std::optional<Attribute> attribute = report::value_at(topology_, path);
  if (attribute && !attribute->available()) {
    lack(path, report::why_absent(*attribute));
    if (is_final(*attribute)) {
      cannot_be_measured_ = true;
      return 1;
    }
  } else if (!can_be_known(topology_, path)) {
    lack(path, "not available for GPUs of this vendor");
    cannot_be_measured_ = true;
    return 1;
  } else {
    lack(path, attribute ? "not a number above 0" : "not in the report");
  }
  add_once(to_measure_, report::element_to_measure(path));
  return 1;
}

std::optional<double> Figures::known_detail(const std::string& path, std::string_view detail) {
  const std::optional<Attribute> attribute = report::value_at(topology_, path);
  if (!attribute || !attribute->available()) return std::nullopt;
  static_cast<void>(known(path));  // records its doubts
  return positive(report::detail_of(&*attribute, detail));
}

double Figures::need_detail(const std::string& path, std::string_view detail) {
  const std::optional<Attribute> attribute = report::value_at(topology_, path);
  if (!attribute || !attribute->available()) return need(path);
  if (const auto number = known_detail(path, detail)) return *number;
  lack(path, fmt::format("detail {} is missing", detail));
  add_once(to_measure_, report::element_to_measure(path));
  return 1;
}

void Figures::require_all() const {
  if (lacking_.empty()) return;
  const std::string advice = cannot_be_measured_
                                 ? "this GPU or its driver does not provide every needed value"
                                 : fmt::format("measure it: gputopo --only {}", fmt::join(to_measure_, ","));
  throw FormatError(fmt::format("the model of this kernel needs {}; {}", fmt::join(lacking_, ", "), advice));
}

}  // namespace gputopo::kernel_model
