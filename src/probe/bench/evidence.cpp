#include "probe/bench/evidence.h"

namespace gputopo::probe {

Attribute measured(const Conditions& conditions, Value value, std::string unit, std::optional<stats::Interval> interval,
                   std::string method) {
  Attribute attribute;
  attribute.value = std::move(value);
  attribute.unit = std::move(unit);
  attribute.source = Source::kMeasured;
  if (interval) {
    attribute.low = interval->low;
    attribute.high = interval->high;
  }
  attribute.method = std::move(method);
  attribute.conditions = conditions.named();
  return attribute;
}

Attribute measured_exactly(const Conditions& conditions, std::int64_t value, std::string unit, std::string method) {
  const auto exact = static_cast<double>(value);
  return measured(conditions, value, std::move(unit), stats::Interval{exact, exact}, std::move(method));
}

}  // namespace gputopo::probe
