#include "discover/measure/operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "probe/compute/operation.h"
#include "probe/compute/operation_trials.h"
#include "probe/compute/pipes.h"

namespace gputopo {
namespace {

constexpr const char* kNotYet = "the run ended before this was measured";

// Operations that may wait for another clock than the SM's come first: matrix operations lower the SM clock, which
// changes their cycles. Matrix operations come last.
constexpr OperationClass kMeasurementOrder[] = {
    OperationClass::kControl,         OperationClass::kClock,    OperationClass::kArithmetic,
    OperationClass::kComparison,      OperationClass::kLogic,    OperationClass::kConversion,
    OperationClass::kSpecialFunction, OperationClass::kDivision, OperationClass::kWarp,
    OperationClass::kMatrix};
static_assert(std::size(kMeasurementOrder) == std::size(kAllOperationClasses));

Instruction not_yet(OperationId id) {
  const OperationInfo& info = info_of(id);
  Instruction instruction{std::string(info.name), std::string(info.title), {}};
  for (const AttributeId attribute : kOperationAttributes) {
    get_or_add(instruction.attributes, attribute) = unavailable(Reason::kInterrupted, kNotYet);
  }
  return instruction;
}

}  // namespace

OperationSteps::OperationSteps(probe::DeviceSession& bench, Scheduler& scheduler, const WantedOperations& wanted)
    : session_(bench), scheduler_(scheduler), wanted_(wanted.all), latencies_(wanted.latencies) {
  if (wanted.pipes) pipes_ = unavailable(Reason::kInterrupted, kNotYet);
  std::ranges::sort(wanted_);
  for (const OperationClass of : kMeasurementOrder) {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      if (info_of(wanted_[i]).of == of) places.push_back(i);
    }
    if (!places.empty()) classes_.emplace_back(of, std::move(places));
  }
  for (const OperationId id : wanted_) found_.push_back(not_yet(id));
  for (const OperationId id : latencies_) {
    get_or_add(found_latency_.emplace_back(not_yet(id)).attributes, AttributeId::kThroughput) =
        unavailable(Reason::kNotSelected, std::string(kOnlyInFull));
  }
}

void OperationSteps::measure_class(const std::vector<std::size_t>& places) {
  std::vector<OperationId> ids;
  for (const std::size_t place : places) ids.push_back(wanted_[place]);
  probe::ProbeRunner runner(session_);
  std::vector<probe::OperationFinding> findings = probe::measure_operations(runner, ids);
  for (std::size_t i = 0; i < places.size(); ++i) {
    AttributeMap& attributes = found_[places[i]].attributes;
    get_or_add(attributes, AttributeId::kLatency) = std::move(findings[i].latency);
    get_or_add(attributes, AttributeId::kThroughput) = std::move(findings[i].throughput);
  }
}

void OperationSteps::measure_latencies() {
  const auto absence = scheduler_.step(fmt::format("{}.latency", kInstructions), [&] {
    probe::ProbeRunner runner(session_);
    const std::vector<Attribute> latencies = probe::measure_operation_latencies(runner, latencies_);
    for (std::size_t i = 0; i < latencies.size(); ++i) {
      get_or_add(found_latency_[i].attributes, AttributeId::kLatency) = latencies[i];
    }
  });
  scheduler_.count_done();
  if (!absence) return;
  for (Instruction& instruction : found_latency_) {
    get_or_add(instruction.attributes, AttributeId::kLatency) = unavailable(absence->reason, absence->detail);
  }
}

std::vector<Instruction> OperationSteps::found() const {
  std::vector<Instruction> all = found_;
  for (const Instruction& instruction : found_latency_) {
    // Nobody requested this operation by name.
    const Attribute* latency = find(instruction.attributes, AttributeId::kLatency);
    if (latency->reason != Reason::kNotSupported) all.push_back(instruction);
  }
  return all;
}

void OperationSteps::measure_pipes() {
  const std::string name(kPipesGroup);
  const auto absence = scheduler_.step(name, [&] {
    probe::ProbeRunner runner(session_);
    pipes_ = probe::measure_pipes(runner);
    for (SampleTable& table : pipes_->samples) table.name = name + "." + table.name;
  });
  if (absence) pipes_ = unavailable(absence->reason, absence->detail);
  scheduler_.count_done();
}

std::vector<Program> OperationSteps::expected() const {
  std::vector<OperationId> operations = wanted_;
  operations.insert(operations.end(), latencies_.begin(), latencies_.end());
  std::vector<Program> programs = probe::expected_of_operations(operations);
  if (pipes_) std::ranges::move(probe::expected_of_pipes(), std::back_inserter(programs));
  return programs;
}

void OperationSteps::measure() {
  if (pipes_) measure_pipes();
  if (!latencies_.empty()) measure_latencies();
  for (const auto& [of, places] : classes_) {
    const auto absence = scheduler_.step(fmt::format("{}.{}", kInstructions, to_string(of)),
                                         [&, &members = places] { measure_class(members); });
    scheduler_.count_done();
    if (!absence) continue;
    for (const std::size_t place : places) {
      for (auto& [id, attribute] : found_[place].attributes) attribute = unavailable(absence->reason, absence->detail);
    }
  }
}

}  // namespace gputopo
