#include "discover/measure/operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "probe/operation.h"
#include "probe/pipes.h"

namespace gputopo {
namespace {

constexpr const char* kNotYet = "ended before its turn";

}  // namespace

OperationSteps::OperationSteps(probe::Bench& bench, Scheduler& scheduler, const std::vector<OperationId>& wanted,
                               bool pipes)
    : bench_(bench), scheduler_(scheduler), wanted_(wanted) {
  if (pipes) pipes_ = unavailable(Reason::kInterrupted, kNotYet);
  std::ranges::sort(wanted_);
  for (const OperationClass of : kAllOperationClasses) {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      if (info_of(wanted_[i]).of == of) places.push_back(i);
    }
    if (!places.empty()) classes_.emplace_back(of, std::move(places));
  }
  for (const OperationId id : wanted_) {
    const OperationInfo& info = info_of(id);
    Instruction& instruction = found_.emplace_back(Instruction{std::string(info.name), std::string(info.title), {}});
    for (const AttributeId attribute : kOperationAttributes) {
      get_or_add(instruction.attributes, attribute) = unavailable(Reason::kInterrupted, kNotYet);
    }
  }
}

void OperationSteps::measure_class(const std::vector<std::size_t>& places) {
  std::vector<OperationId> ids;
  for (const std::size_t place : places) ids.push_back(wanted_[place]);
  probe::Lab lab(bench_);
  std::vector<probe::OperationFinding> findings = probe::measure_operations(lab, ids);
  for (std::size_t i = 0; i < places.size(); ++i) {
    AttributeMap& attributes = found_[places[i]].attributes;
    get_or_add(attributes, AttributeId::kLatency) = std::move(findings[i].latency);
    get_or_add(attributes, AttributeId::kThroughput) = std::move(findings[i].throughput);
  }
}

void OperationSteps::measure_pipes() {
  const std::string name(kPipesGroup);
  const auto absence = scheduler_.step(name, [&] {
    probe::Lab lab(bench_);
    pipes_ = probe::measure_pipes(lab);
    for (SampleTable& table : pipes_->samples) table.name = name + "." + table.name;
  });
  if (absence) pipes_ = unavailable(absence->reason, absence->detail);
  scheduler_.count_done();
}

std::vector<Program> OperationSteps::expected() const { return probe::expected_of_operations(bench_.info(), wanted_); }

void OperationSteps::measure() {
  if (pipes_) measure_pipes();
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
