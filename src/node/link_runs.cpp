#include "node/link_runs.h"

#include <fmt/format.h>

#include <algorithm>

#include "gputopo/error.h"

namespace gputopo::node {
namespace {

double widest(const std::vector<Estimate>& estimates) {
  return std::ranges::max(estimates, {}, &Estimate::spread).spread();
}

}  // namespace

std::optional<std::uint64_t> bytes_of(const Attribute& bandwidth) {
  for (const auto& [name, value] : bandwidth.conditions) {
    if (name == "bytes") return static_cast<std::uint64_t>(std::get<std::int64_t>(value));
  }
  return std::nullopt;
}

LinkReport* LinkRuns::link_of(const Transfer& transfer) {
  const auto found = std::ranges::find_if(
      report_.links, [&](const LinkReport& l) { return l.from == transfer.from && l.to == transfer.to; });
  return found == report_.links.end() ? nullptr : &*found;
}

TransferResult LinkRuns::ask(const TransferProgram& program) {
  if (options_.ended && options_.ended()) {
    throw Stopped{"interrupted or out of time: the remaining link measurements were skipped"};
  }
  try {
    return links_.run(program);
  } catch (const DeviceLostError& error) {
    throw Stopped{error.what()};
  }
}

void LinkRuns::rest() {
  constexpr double kSeconds = 0.05;
  links_.rest(kSeconds);
}

std::vector<double> LinkRuns::own_rates(const TransferProgram& program, const TransferResult& answer) {
  std::vector<double> rates;
  for (const double seconds : answer.seconds) {
    rates.push_back(static_cast<double>(program.bytes) * program.repeats / seconds);
  }
  return rates;
}

// The first run is not counted: it wakes links that sleep while idle.
std::vector<Estimate> LinkRuns::rates_of_runs(const TransferProgram& program, const Rates& rates) {
  std::vector<std::vector<double>> samples(program.transfers.size());
  static_cast<void>(ask(program));
  for (std::size_t run = 0; run < kRuns; ++run) {
    const std::vector<double> each = rates(program, ask(program));
    for (std::size_t i = 0; i < each.size(); ++i) samples[i].push_back(each[i]);
  }
  std::vector<Estimate> estimates;
  for (const std::vector<double>& of_one : samples) estimates.push_back(estimate(of_one));
  return estimates;
}

std::vector<Estimate> LinkRuns::steady_rates(const TransferProgram& program, const Rates& rates) {
  // The host's cores copy pageable memory, so its rate is never steady and repeats do not help.
  if (program.op == TransferOp::kPageableCopy) return rates_of_runs(program, rates);
  return steadiest<std::vector<Estimate>>([&] { return rates_of_runs(program, rates); }, widest);
}

Attribute LinkRuns::attribute_of(const Estimate& estimate, std::string_view name, std::string method) {
  Attribute attribute;
  attribute.value = estimate.value;
  attribute.unit = find_link_attribute(name)->unit;
  attribute.low = estimate.low;
  attribute.high = estimate.high;
  attribute.source = Source::kMeasured;
  attribute.method = std::move(method);
  return attribute;
}

void LinkRuns::put(AttributeMap& attributes, std::string_view name, const std::function<Attribute()>& measure) {
  Attribute attribute;
  try {
    attribute = measure();
  } catch (const NotSupportedError& error) {
    attribute = unavailable(Reason::kNotSupported, error.what());
  } catch (const DeviceError& error) {
    attribute = unavailable(Reason::kDeviceError, error.what());
    report_.complete = false;
  }
  get_or_add(attributes, name) = std::move(attribute);
}

void LinkRuns::warn_if_unsteady(const std::string& where, std::string_view name, const Estimate& estimate) {
  if (estimate.spread() <= kSteadySpread) return;
  report_.warnings.push_back(
      fmt::format("{}: {} varied by {:.0f}% between runs, most likely because other traffic used the link or the "
                  "memory; measure again when the node is idle",
                  where, name, 100 * estimate.spread()));
}

}  // namespace gputopo::node
